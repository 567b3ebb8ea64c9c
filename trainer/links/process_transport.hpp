#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "trainer/ground/run_clock.hpp"
#include "trainer/paced/paced_links.hpp"
#include "trainer/plan/run_plan.hpp"
#include "trainer/processes/process_group.hpp"
#include "trainer/transport/loss_log.hpp"
#include "trainer/transport/mailbox.hpp"
#include "trainer/transport/transport.hpp"

namespace plumb {

/// Transport between processes that have one device each: messages, parts of reductions and completions are sent as
/// data of the group into the mailbox of the other process, where its device waits as the devices of one process do.
/// Every member of a reduction gets all parts and adds them up itself, so there is no root to wait for. Losses go to
/// the first process.
class ProcessTransport : public Transport, private ProcessGroup::Sink {
 public:
  /// All must outlive this. Losses that are noted here go to the first process from now on.
  ProcessTransport(const RunPlan& plan, ProcessGroup& group, Mailbox& mailbox, LossLog& losses);
  ProcessTransport(const ProcessTransport&) = delete;
  ProcessTransport& operator=(const ProcessTransport&) = delete;
  ~ProcessTransport() override { group_.close(); }

  void send(std::uint32_t transfer, std::span<Block> message) override;
  void send(std::uint32_t transfer, Pieces message);
  TransferTimes await(std::uint32_t transfer) override { return mailbox_.await(transfer); }
  void take(std::uint32_t transfer, std::span<Block> slots) override { mailbox_.take(transfer, slots); }
  void send_again(std::uint32_t transfer, std::span<const std::byte> message) override;
  void await_again(std::uint32_t transfer) override { mailbox_.await_again(transfer); }
  bool take_again(std::uint32_t transfer, std::span<std::byte> slot) override {
    return mailbox_.take_again(transfer, slot);
  }
  void publish(std::uint32_t holder, std::int32_t update, std::span<const std::byte> note) override;
  std::vector<std::byte> published(std::uint32_t holder, std::int32_t update, DeviceId waiting) override {
    return mailbox_.published(holder, update, waiting);
  }
  void join(std::uint32_t collective, std::size_t member, Pieces part) override;
  void await_reduced(std::uint32_t collective, DeviceId waiting) override {
    mailbox_.await_reduced(collective, waiting);
  }
  void collect(std::uint32_t collective, Pieces sum) override { mailbox_.collect(collective, sum); }
  void passed(DeviceId device, InstrIndex position) override;
  void await_instr(DeviceId device, InstrIndex instr, DeviceId waiting) override {
    mailbox_.await_instr(device, instr, waiting);
  }

  /// Tells `links` what other processes offer to the device of this one and post for it; and others, what it posts.
  void pace(PacedLinks& links);

  /// Begins a part of the run, in all processes: the paused `clock` continues as that of the first process.
  void begin(RunClock& clock);
  /// Returns when all processes have come to the cut; what crosses it is in the mailboxes of its receivers then.
  void end() { group_.meet(); }

 private:
  enum class Kind : std::uint8_t { kMessage, kMessageAgain, kNote, kPart, kPassed, kLoss, kPosted };

  std::size_t rank_of(DeviceId device) const { return index(device); }
  std::size_t receiver_of(std::uint32_t transfer) const;
  void deliver(std::span<const std::byte> data) override;
  void stop() override { mailbox_.stop(); }

  const RunPlan& plan_;
  ProcessGroup& group_;
  Mailbox& mailbox_;
  LossLog& losses_;
  const RunClock* clock_ = nullptr;
  PacedLinks* paced_ = nullptr;                          ///< null: messages take the time that they take
  std::vector<std::vector<DeviceId>> members_;           ///< by collective: the other devices
  std::map<InstrIndex, std::vector<DeviceId>> awaited_;  ///< by position: the other devices that wait for it
};

}  // namespace plumb
