#pragma once

#include <memory>
#include <string>

#include "models/launches/launch.hpp"
#include "models/launches/read_launch.hpp"
#include "sim/plan_search/placed_schedule.hpp"
#include "sim/timeline/timeline.hpp"
#include "tools/options/plan_question.hpp"

namespace plumb {

/// A job of a launch file, simulated as it stands on the cluster of a plan search.
struct LaunchedPlan {
  std::shared_ptr<const LaunchSettings> said;  ///< what the file says
  LaunchJob job;
  Timeline timeline;
};

/// Fills in what the search was not told (network, batch, how the job computes) and simulates the job that
/// `said` describes, with messages as a plan's. Throws `Error` for a job that cannot run on the cluster.
LaunchedPlan launched_plan(LaunchSettings said, PlanSearchArguments& arguments);

/// Both in a table, what the plan saves, and what to change. `need`: of the best plan.
std::string launched_plan_text(const LaunchedPlan& launched, const SimulatedPlan& best, const MemoryNeed& need);

}  // namespace plumb
