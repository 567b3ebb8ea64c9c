#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plumb {

/// The figure `name` of the planner's answer to `command`. Throws `Error`, also for a name that is not among
/// `planner_metrics`.
double planner_metric(const std::string& command, const std::string& name);
std::vector<std::string_view> planner_metrics();

/// The same of several whole jobs, "plan --jobs FILE ...".
double jobs_metric(const std::string& command, const std::string& name);
std::vector<std::string_view> jobs_metrics();

}  // namespace plumb
