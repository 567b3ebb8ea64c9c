#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/planners/planner.hpp"

namespace plumb {

/// A published planner, and what it is asked.
struct PlannerCommand {
  const Planner* planner = nullptr;
  PlanProblem problem;
};

/// What "plan --method NAME ..." asks; files below "results/" are those of the source tree. Throws `Error`.
PlannerCommand planner_command(const std::string& command);

/// The figure `name` of the planner's answer to `command`. Throws `Error`, also for a name that is not among
/// `planner_metrics`.
double planner_metric(const std::string& command, const std::string& name);
std::vector<std::string_view> planner_metrics();

/// The same of several whole jobs, "plan --jobs FILE ...".
double jobs_metric(const std::string& command, const std::string& name);
std::vector<std::string_view> jobs_metrics();

}  // namespace plumb
