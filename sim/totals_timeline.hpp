#pragma once

#include <span>
#include <vector>

#include "schedules/program/program.hpp"
#include "sim/lanes/metrics.hpp"
#include "sim/passes/plain_passes.hpp"
#include "sim/rules/sim_options.hpp"
#include "sim/timeline/timeline.hpp"

namespace plumb {

/// A timeline of what the program says about itself.
Timeline empty_timeline(const Program& program);

/// Fills devices and makespan with what a run of totals has found, and returns the first and the last update of every
/// device that has some.
std::vector<UpdateMark> fill_from_totals(const Program& program, std::span<const LaneTotals> lanes,
                                         const SimOptions& options, Timeline& timeline);

}  // namespace plumb
