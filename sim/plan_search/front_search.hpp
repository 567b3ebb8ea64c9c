#pragma once

#include <vector>

#include "sim/plan_search/pipeline_plan.hpp"
#include "sim/plan_search/plan_job.hpp"

namespace plumb {

/// The Pareto-optimal plans, including those on fewer devices, which a search for the shortest step leaves out. Repeats
/// the search for every number of devices of a stage with every length of the pipeline, with `effort.most_simulations`
/// each, and returns the plans that none of these and none of `known` beats (plan_front.hpp).
std::vector<ScoredPlan> search_front(const PlanJob& job, const PlanRanges& ranges, const PlanEffort& effort,
                                     const std::vector<ScoredPlan>& known);

}  // namespace plumb
