#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "schedules/program/program.hpp"
#include "sim/rules/transfer_semantics.hpp"
#include "trainer/memory/arena.hpp"

namespace plumb {

/// Numbers that lie in several places, one after the other.
using Pieces = std::span<const std::span<std::byte>>;

/// How the devices of a run exchange what a `Program` says: messages, reductions and bare edges. Thread-safe: every
/// device calls from its own thread. Times are those of the devices' clocks.
class Transport {
 public:
  virtual ~Transport() = default;

  /// Sends the message of `transfer`, whose parts are the blocks of `message`. The blocks must stay until `await_sent`
  /// returns, which never waits for the receiver of a buffered send; what is in them afterwards is not defined.
  virtual void send(std::uint32_t transfer, std::span<Block> message) = 0;
  /// Returns when the sender may free the blocks of the message.
  virtual void await_sent(std::uint32_t /*transfer*/) {}
  /// The receiver has allocated `slots` for the parts of a message; it may be written there at any time from now on.
  virtual void post(std::uint32_t /*transfer*/, std::span<const Block> /*slots*/) {}
  /// Waits for the message of `transfer`; returns when it was sent and arrived.
  virtual TransferTimes await(std::uint32_t transfer) = 0;
  /// Writes the parts of the awaited message to `slots` and forgets it.
  virtual void take(std::uint32_t transfer, std::span<Block> slots) = 0;

  /// Replaces a message by the value of a forward that was run again. A receiver that took the first message already
  /// gets another one.
  virtual void send_again(std::uint32_t transfer, std::span<const std::byte> message) = 0;
  /// Waits until the message was sent again.
  virtual void await_again(std::uint32_t transfer) = 0;
  /// Takes the message as `take` does; returns false when there is no further message, because the first one was the
  /// new one already.
  virtual bool take_again(std::uint32_t transfer, std::span<std::byte> slot) = 0;

  /// Publishes a small note about an update of a holder to all devices (the norms of its gradients).
  virtual void publish(std::uint32_t holder, std::int32_t update, std::span<const std::byte> note) = 0;
  /// Waits for the note of an update, and returns it. Only the notes of the last three updates of a holder are kept.
  virtual std::vector<std::byte> published(std::uint32_t holder, std::int32_t update, DeviceId waiting) = 0;

  /// Gives the part of member `member` of `collective`.
  virtual void join(std::uint32_t collective, std::size_t member, Pieces part) = 0;
  /// Waits until all members have joined.
  virtual void await_reduced(std::uint32_t collective, DeviceId waiting) = 0;
  /// Writes the sum of the parts of an awaited collective to `sum`. Parts are added in the order of the members, so all
  /// members get the same bits. Every member collects once; `sum` may be the pieces that it gave as its part, or others
  /// of the same length.
  virtual void collect(std::uint32_t collective, Pieces sum) = 0;

  /// A device comes to the place before `position`; returns when nothing but its sends and receives keeps it there.
  virtual void reached(DeviceId /*device*/, InstrIndex /*position*/) {}
  /// Says that a device has finished all its instrs before `position`.
  virtual void passed(DeviceId device, InstrIndex position) = 0;
  /// Waits until `device` has finished `instr`.
  virtual void await_instr(DeviceId device, InstrIndex instr, DeviceId waiting) = 0;
};

}  // namespace plumb
