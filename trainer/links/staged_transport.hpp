#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "trainer/device/device_queue.hpp"
#include "trainer/links/link_messages.hpp"
#include "trainer/links/process_transport.hpp"
#include "trainer/streams/stream_order.hpp"
#include "trainer/transport/mailbox.hpp"
#include "trainer/transport/transport.hpp"

namespace plumb {

/// Transport between a device that works through streams and the devices of other processes, through the host's memory.
/// Outgoing data are copied to the host by a separate stream, after the work that makes them, and sent when the copy is
/// done: the issuing thread checks for that at every call, and while it waits. It waits itself for incoming data, and
/// the compute stream copies them to the device. Where there are links, messages go over them.
class StagedTransport : public Transport {
 public:
  /// All must outlive this. `give_up` must throw; it is called when issued work is not done within `patience_s`.
  struct Setting {
    const Program& program;
    ProcessTransport& between;
    Mailbox& mailbox;
    StreamMachine& machine;
    StreamOrder& order;
    DeviceQueue& queue;
    double patience_s = 0;
    std::function<void()> give_up;
    LinkMessages* links = nullptr;
  };
  explicit StagedTransport(Setting setting) : setting_(std::move(setting)) {}
  StagedTransport(const StagedTransport&) = delete;
  StagedTransport& operator=(const StagedTransport&) = delete;
  ~StagedTransport() override;

  void send(std::uint32_t transfer, std::span<Block> message) override;
  void await_sent(std::uint32_t transfer) override;
  void post(std::uint32_t transfer, std::span<const Block> slots) override;
  TransferTimes await(std::uint32_t transfer) override;
  void take(std::uint32_t transfer, std::span<Block> slots) override;
  void send_again(std::uint32_t transfer, std::span<const std::byte> message) override;
  void await_again(std::uint32_t transfer) override;
  bool take_again(std::uint32_t transfer, std::span<std::byte> slot) override;
  void publish(std::uint32_t holder, std::int32_t update, std::span<const std::byte> note) override;
  std::vector<std::byte> published(std::uint32_t holder, std::int32_t update, DeviceId waiting) override;
  void join(std::uint32_t collective, std::size_t member, Pieces part) override;
  void await_reduced(std::uint32_t collective, DeviceId waiting) override;
  void collect(std::uint32_t collective, Pieces sum) override;
  void passed(DeviceId device, InstrIndex position) override;
  void await_instr(DeviceId device, InstrIndex instr, DeviceId waiting) override;

  /// The host waits for an event, and serves all other transfers meanwhile.
  void wait_for(EventId event);
  /// Throws `RunAborted` when the run was aborted, and `Error` when a link has failed.
  void check();
  /// Waits until everything that was issued has been sent.
  void flush();
  /// After `flush`; the machine has been waited for.
  void finish_part();

 private:
  /// What is to be done when the device is that far.
  struct Pending {
    EventId after{};
    std::function<void()> then;
  };
  using Buffers = std::vector<std::span<std::byte>>;

  bool is_sync(std::uint32_t collective) const {
    return setting_.program.collectives[collective].kind == Collective::Kind::kSyncWeights;
  }
  std::span<std::byte> take_buffer(std::size_t bytes);
  void give_back(const Buffers& buffers);
  EventId copy_out(StreamKind by, Pieces from, const Buffers& to);
  bool do_what_is_due();
  void stay_close();
  template <class Ready>
  void look_until(const Ready& ready);

  Setting setting_;
  std::list<Pending> pending_;
  std::map<std::uint32_t, EventId> left_;  ///< by transfer: its send buffer is free after this
  std::map<std::size_t, Buffers> free_;    ///< by size
  std::vector<std::span<std::byte>> all_;  ///< memory that the host and the device see
};

}  // namespace plumb
