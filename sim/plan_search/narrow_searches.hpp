#pragma once

#include <vector>

#include "sim/plan_search/plan_job.hpp"

namespace plumb {

/// A search of a part of the space, with a part of the effort.
struct NarrowSearch {
  PlanRanges ranges{};
  PlanEffort effort{};
};

/// Where there are many schedules, those that are simulated fastest and are seldom far from the best, "1f1b" and
/// "zb-v", one at a time: cuts, degrees and orders that are good for them are where the search of all schedules begins.
/// Each has an eighth of the effort, and at most 1500 simulations, on many devices 200.
std::vector<NarrowSearch> narrow_searches(const PlanJob& job, const PlanRanges& ranges, const PlanEffort& effort);

}  // namespace plumb
