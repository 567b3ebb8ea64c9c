#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/costs/stage_costs.hpp"
#include "models/ground/units.hpp"
#include "sim/timeline/timeline.hpp"

namespace plumb {

/// The end of one update on one device (the last U of that number, where the device holds several stages).
struct UpdateMark {
  DeviceId device{};
  std::int64_t update = 0;
  Ticks end = 0;
  Ticks useful = 0;            ///< useful time of the device up to `end`
  std::int64_t made = 0;       ///< updates of the device up to this one, those included that were skipped
  bool forward_ahead = false;  ///< the device still starts a forward afterwards

  friend bool operator==(const UpdateMark&, const UpdateMark&) = default;
};

/// The number of updates of a run of `num_microbatches`, counted at the first stage; at least 1.
std::int64_t count_updates(std::int64_t num_microbatches, std::span<const std::int64_t> per_update, bool forward_only);

/// Whether the marks of an asynchronous run, some updates of which were skipped, tell what `fill_metrics` would find
/// with all of them: some devices have paces of their own, or a period repeats among those that are left.
bool tell_steady_updates(std::span<const UpdateMark> marks, std::size_t num_devices);

/// Computes the figures of a timeline from its devices; the same for simulated and measured runs.
///
/// Reads `makespan`, `base`, `num_microbatches`, `updates` and, of every device, `busy`, `useful`, `first_start` and
/// `last_end`. Writes `idle`, `longest_device_span`, `bubble_fraction`, `bubble_rate`, `asynchronous`, `step_time`,
/// `steady`, `steady_updates` (where there are spans), `utilization` and, where `work` is known, the throughput.
/// `marks` are by device, then end.
///
/// Step time and utilization of an asynchronous run count only the time between updates, on every device by its own
/// clock: from one of its updates to a later one that still has a forward after it, so that neither fill nor drain
/// counts. Where the last intervals between updates repeat with a period of q updates on all devices, only whole
/// repeating periods count (the rest is transient); otherwise all of them do. The step time is that of the device that
/// takes longest. With fewer than two such updates both are those of the whole run.
void fill_metrics(Timeline& timeline, const WorkUnits& work, bool asynchronous, std::span<const UpdateMark> marks);

}  // namespace plumb
