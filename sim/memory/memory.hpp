#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/costs/memory_class.hpp"
#include "models/ground/units.hpp"
#include "schedules/program/program.hpp"
#include "sim/memory/memory_changes.hpp"
#include "sim/rules/run_times.hpp"
#include "sim/timeline/timeline.hpp"

namespace plumb {

/// The memory peak of a device.
struct MemoryPeak {
  std::int64_t bytes = 0;
  MemoryByClass by_class{};  ///< at the first moment when `bytes` are reached
  InstrIndex instr = 0;      ///< that moment; the lane's begin and kBefore when nothing ever exceeds the resident bytes
  MemoryPhase phase = MemoryPhase::kBefore;

  friend bool operator==(const MemoryPeak&, const MemoryPeak&) = default;
};

/// Iterations that a Program stands for but leaves out: [begin, end) of a lane goes on `times` more after `end`. It
/// does what [before, begin) did.
struct LeftOut {
  InstrIndex before = 0;
  InstrIndex begin = 0;
  InstrIndex end = 0;
  std::int64_t times = 0;
};

/// Whether memory is known in bytes, not in abstract units.
bool knows_bytes(const Program& program);

/// Memory of every device as it follows from a Program alone: no times needed, because buffers come and go at fixed
/// positions of their device's lane (sim/memory/memory_changes.hpp).
class MemoryModel {
 public:
  /// `program` must outlive the model. Linear in its size.
  explicit MemoryModel(const Program& program);

  /// Bytes that are allocated during the whole run: weights, corrections, gradients, optimizer state.
  MemoryByClass resident(DeviceId device) const;

  /// All changes of the device's memory, in order.
  std::vector<MemoryChange> changes(DeviceId device) const;

  MemoryPeak peak(DeviceId device) const;

  /// The peak of the whole lane, of which parts are left out: what they allocate and do not free is added after them.
  /// A whole repetition must follow each. Empty when a repetition does not do what the one before it did.
  std::optional<MemoryPeak> peak(DeviceId device, std::span<const LeftOut> left_out) const;

  /// What is alive at `peak(device)`, by class, stage and name: stash tensors by their own names, else "input",
  /// "output", ... Resident bytes name no microbatch; weight versions and the workspace of an update name the update
  /// instead. The bytes of all entries (times microbatches, at least 1) add up to the peak.
  std::vector<PeakTensor> composition(DeviceId device, const MemoryPeak& peak) const;

  /// Appends the curve of every class that the device ever uses, and returns the peak: the bytes at 0, then a point per
  /// moment of change. Buffers that come and go at one moment leave no point. (Blocking mode: receives are shown as
  /// posted when the instr before has ended, without the block.)
  MemoryPeak append_curve(DeviceId device, const RunTimes& times, std::vector<MemoryPoint>& points) const;

 private:
  const Program& program() const { return *positions_.program; }

  MemoryPositions positions_;
};

}  // namespace plumb
