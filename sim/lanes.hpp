#pragma once

#include <vector>

#include "schedules/program.hpp"
#include "sim/metrics.hpp"
#include "sim/run_times.hpp"
#include "sim/simulate.hpp"
#include "sim/timeline.hpp"

namespace plumb {

/// Fills what a timeline holds of every device's compute lane: busy and useful time, first start, last end, the idle
/// causes
/// (`options.idle_causes`) and the peak of activations; the spans of all lanes when `options.spans`; the makespan.
/// Returns the updates of every device, for `fill_metrics`.
std::vector<UpdateMark> fill_lanes(const Program& program, const RunTimes& times, const SimOptions& options,
                                   Timeline& timeline);

/// Of a row's duration, the part that is neither recompute nor extra work.
Ticks useful_share(const Program& program, std::size_t row, Ticks duration);

}  // namespace plumb
