#pragma once

#include <vector>

#include "sim/plan_search/pipeline_plan.hpp"
#include "sim/plan_search/plan_job.hpp"

namespace plumb {

/// The front of plans on fewer devices, too, which a search for the shortest step leaves out: the same search for every
/// number of devices of a stage with every length of the pipeline, `effort.most_simulations` each, and what nothing of
/// all these and of `known` beats (plan_front.hpp).
std::vector<ScoredPlan> search_front(const PlanJob& job, const PlanRanges& ranges, const PlanEffort& effort,
                                     const std::vector<ScoredPlan>& known);

}  // namespace plumb
