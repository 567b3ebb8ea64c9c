#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "schedules/document/action.hpp"
#include "trainer/stages/backend.hpp"

namespace plumb {

enum class StreamId : std::uint32_t {};
enum class EventId : std::uint32_t {};

/// A device's own work, its messages in the two directions of a pipeline, and those of one link to another process.
enum class StreamKind : std::uint8_t { kCompute, kActivations, kGradients, kLink };
/// The kinds that every device has; kLink is extra.
inline constexpr std::size_t kStreamKinds = 3;

/// Whether an event is waited for, or asked for its time.
enum class EventUse : std::uint8_t { kOrder, kTime };

/// Memory that a piece of work touches.
struct Access {
  std::span<const std::byte> bytes;
  bool writes = false;
};

/// One piece of work of a stream.
struct Work {
  std::string name;  ///< "0F3"
  std::vector<Access> accesses;
  /// Does the work, or (on a GPU) hands it to the stream. What it refers to must stay until the machine has been
  /// synchronized.
  std::function<void()> run;
  std::string replay = {};  ///< equal for work that does the same with the same memory; empty: never the same
  bool waits = false;       ///< the host waits for it in `run`
};

/// A machine whose devices work through streams, later than the one thread that gives them their work. Work of one
/// stream is done in order. Work of different streams is ordered by events only: a stream that waits for an event
/// continues when everything before the record of the event has been done. As with CUDA, a wait refers to the latest
/// record *before the call*, and does nothing when there was none. All calls come from one thread; they throw what work
/// has thrown, at the latest in `synchronize`.
class StreamMachine {
 public:
  virtual ~StreamMachine() = default;

  virtual StreamId make_stream(DeviceId device, StreamKind kind) = 0;
  virtual EventId make_event(EventUse use) = 0;
  virtual void record(EventId event, StreamId stream) = 0;
  virtual void wait(StreamId stream, EventId event) = 0;

  virtual void launch(StreamId stream, Work work) = 0;
  virtual void fill(StreamId stream, std::span<std::byte> bytes, std::byte value) = 0;
  /// Within the memory of a device, or between it and the host.
  virtual void copy(StreamId stream, std::byte* to, std::span<const std::byte> from) = 0;
  /// Copies between the memories of the stream's device and of `peer`, over the link between the two.
  virtual void send(StreamId stream, DeviceId peer, std::byte* to, std::span<const std::byte> from) = 0;
  /// Returns how much later than the end of `send` a message arrives; a stream that waits for it on another device
  /// waits that much longer.
  virtual std::int64_t latency_ns(DeviceId /*from*/, DeviceId /*to*/) const { return 0; }
  /// `sum += term`, number by number.
  virtual void add(StreamId stream, NumberType type, std::span<std::byte> sum, std::span<const std::byte> term) = 0;

  virtual std::byte* allocate(DeviceId device, std::int64_t bytes) = 0;
  virtual void free(DeviceId device, std::byte* storage) = 0;
  /// Returns a small piece of memory that the host and all devices read and write.
  virtual std::byte* allocate_shared(std::int64_t bytes) = 0;
  virtual void free_shared(std::byte* storage) = 0;
  /// Returns whether the host reads and writes the memory of devices as its own.
  virtual bool host_reads_devices() const = 0;
  /// A block of memory of the stream's device begins or ends at this place of the stream (for checks of the order).
  virtual void begin_block(StreamId, std::span<const std::byte>) {}
  virtual void end_block(StreamId, std::span<const std::byte>) {}
  /// The instr of the program that the following work belongs to; `kNoInstr`: none.
  static constexpr std::uint32_t kNoInstr = 0xFFFFFFFFU;
  virtual void begin_instr(StreamId, std::uint32_t /*instr*/, const std::string& /*name*/) {}
  /// A part of a run begins; all streams are idle.
  virtual void begin_part() {}

  virtual bool is_done(EventId event) = 0;
  /// Waits for all streams.
  virtual void synchronize() = 0;
  /// The host has seen that the event is done, and relies on it from now on (for checks of the order).
  virtual void note_seen(EventId /*event*/) {}
  /// Returns when the event was recorded last, by `RunClock::steady_ns`. After `synchronize`.
  virtual std::int64_t time_ns(EventId event) = 0;
  /// The issued work will never be done: the machine no longer waits for it, and frees nothing.
  virtual void abandon() {}

  /// What the arithmetic on a device's compute stream is made for.
  virtual StreamPlace place(StreamId) const { return {}; }
  /// "AMD EPYC ..., 2 threads".
  virtual std::string description() const = 0;
};

}  // namespace plumb
