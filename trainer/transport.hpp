#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "schedules/program.hpp"
#include "sim/transfer_semantics.hpp"

namespace plumb {

/// How the devices of a run exchange what a `Program` says: messages, reductions and bare edges. Thread-safe: every
/// device calls from its own thread. Times are nanoseconds of the run's clock.
class Transport {
 public:
  virtual ~Transport() = default;

  /// Hands over a copy of the message of `transfer`; the sender may reuse its buffer at once (buffered semantics).
  virtual void send(std::uint32_t transfer, std::span<const std::byte> message) = 0;
  /// Waits for the message of `transfer`, and says when it travelled.
  virtual TransferTimes await(std::uint32_t transfer) = 0;
  /// Writes the awaited message to `slot` and forgets it.
  virtual void take(std::uint32_t transfer, std::span<std::byte> slot) = 0;

  /// Gives the part of member `member` of `collective`.
  virtual void join(std::uint32_t collective, std::size_t member, std::span<const std::byte> part) = 0;
  /// Waits until all members have joined.
  virtual void await_reduced(std::uint32_t collective) = 0;
  /// Writes the sum of the parts of an awaited collective, added in the order of the members, so that all get the same
  /// bits. Every member collects once.
  virtual void collect(std::uint32_t collective, std::span<std::byte> sum) = 0;

  /// Says that a device has finished all its instrs before `position`.
  virtual void passed(DeviceId device, InstrIndex position) = 0;
  /// Waits until `device` has finished `instr`.
  virtual void await_instr(DeviceId device, InstrIndex instr) = 0;
};

}  // namespace plumb
