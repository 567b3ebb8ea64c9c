#pragma once

#include <string>

#include "sim/plan_search/pipeline_plan.hpp"
#include "tools/options/plan_search_arguments.hpp"

namespace plumb {

/// What is said of the plan that exceeds the memory least, where nothing fits: its three largest tensors, and a table
/// of changes that save memory, each simulated, which the system that the plan is for can run. `arguments` are those of
/// the search, its cluster with its size. Empty where layers are measured or the plan has no cut.
std::string closest_plan_text(const PlanQuestion& question, const PlanSearchArguments& arguments,
                              const ScoredPlan& closest);

}  // namespace plumb
