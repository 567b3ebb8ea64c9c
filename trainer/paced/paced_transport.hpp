#pragma once

#include <algorithm>
#include <vector>

#include "trainer/paced/paced_links.hpp"
#include "trainer/plan/run_plan.hpp"
#include "trainer/transport/mailbox.hpp"
#include "trainer/transport/transport.hpp"

namespace plumb {

/// The transport of a paced run: everything really goes by `inner`, and is there no earlier than its links and
/// collectives allow.
class PacedTransport : public Transport {
 public:
  /// All must outlive this. `mailbox`: where `inner` delivers.
  PacedTransport(const RunPlan& plan, RunClock& clock, Transport& inner, const Mailbox& mailbox)
      : plan_(plan),
        clock_(clock),
        inner_(inner),
        mailbox_(mailbox),
        links_(plan.program, plan.options.execution.pace->transfers, clock, mailbox) {}

  PacedLinks& links() { return links_; }
  /// Returns when every collective was over; -1 where it was not.
  std::vector<Ticks> collective_ends() const {
    std::vector<Ticks> ends = mailbox_.collective_ends();
    for (std::size_t c = 0; c < ends.size(); ++c) ends[c] += ends[c] < 0 ? 0 : plan_.program.collectives[c].duration;
    return ends;
  }

  void reached(DeviceId device, InstrIndex position) override {
    links_.reach(device, position, plan_.unit_end(position));
  }
  void passed(DeviceId device, InstrIndex position) override {
    links_.leave(device, position);
    inner_.passed(device, position);
  }
  TransferTimes await(std::uint32_t transfer) override {
    const TransferTimes times = links_.await(transfer);
    inner_.await(transfer);
    return times;
  }
  void await_reduced(std::uint32_t collective, DeviceId waiting) override {
    inner_.await_reduced(collective, waiting);
    clock_.sleep_until(mailbox_.collective_ends()[collective] + plan_.program.collectives[collective].duration);
  }

  void send(std::uint32_t transfer, std::span<Block> message) override { inner_.send(transfer, message); }
  void await_sent(std::uint32_t transfer) override { inner_.await_sent(transfer); }
  void post(std::uint32_t transfer, std::span<const Block> slots) override { inner_.post(transfer, slots); }
  void take(std::uint32_t transfer, std::span<Block> slots) override { inner_.take(transfer, slots); }
  void send_again(std::uint32_t transfer, std::span<const std::byte> message) override {
    inner_.send_again(transfer, message);
  }
  void await_again(std::uint32_t transfer) override { inner_.await_again(transfer); }
  bool take_again(std::uint32_t transfer, std::span<std::byte> slot) override {
    return inner_.take_again(transfer, slot);
  }
  void publish(std::uint32_t holder, std::int32_t update, std::span<const std::byte> note) override {
    inner_.publish(holder, update, note);
  }
  std::vector<std::byte> published(std::uint32_t holder, std::int32_t update, DeviceId waiting) override {
    return inner_.published(holder, update, waiting);
  }
  /// Joins without adding up, since nothing was computed: what counts is that all members have joined.
  void join(std::uint32_t collective, std::size_t member, Pieces) override { inner_.join(collective, member, {}); }
  void collect(std::uint32_t collective, Pieces) override { inner_.collect(collective, {}); }
  void await_instr(DeviceId device, InstrIndex instr, DeviceId waiting) override {
    inner_.await_instr(device, instr, waiting);
  }

 private:
  const RunPlan& plan_;
  RunClock& clock_;
  Transport& inner_;
  const Mailbox& mailbox_;
  PacedLinks links_;
};

}  // namespace plumb
