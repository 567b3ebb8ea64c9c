#pragma once

#include "models/launches/launch.hpp"
#include "sim/plan_search/placed_schedule.hpp"
#include "tools/options/plan_search_arguments.hpp"

namespace plumb {

/// `launch` is what a launch of `plan` is read back as. Throws `Error` with the first thing that it says otherwise than
/// `plan` was priced: what the system's own settings cannot express.
void check_launch(const LaunchJob& launch, const PlanQuestion& question, const SimulatedPlan& plan);

}  // namespace plumb
