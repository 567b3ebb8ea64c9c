#pragma once

#include <string>
#include <vector>

#include "models/launches/launch.hpp"
#include "models/launches/read_launch.hpp"
#include "sim/runtimes/run_rules.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/options/option_table.hpp"
#include "tools/options/schedule_arguments.hpp"

namespace plumb {

/// Options for a job that a launch script or a configuration describes.
struct LaunchArguments {
  std::string file;
  std::vector<std::string> set;
  std::string arguments;
  bool told = false;  ///< a note says that the file is read as a launch file; no option

  /// Declares the options; this object must outlive the parsing.
  /// `name` is that of the option for the file.
  void add_to(OptionTable& parser, const std::string& name = "job");
  bool any() const { return !file.empty(); }

  /// Reads the file; files that it names are looked for from its folder. Throws `Error`.
  LaunchSettings settings() const;
  /// The job that they describe. Throws `Error`.
  LaunchJob read() const;
};

/// The other options of a command that simulates one job.
struct LaunchedRun {
  std::string& schedule;
  ScheduleArguments& size;
  CostArguments& costs;
  RunRules& rules;
};

/// Spreads `job` over the devices of the cluster (in the size that the job says, where the name of the cluster says
/// none) and fills in the options that were not given: what was given replaces what the file says. Throws `Error` for
/// what is missing.
void apply_launch(LaunchJob& job, const LaunchedRun& run);

/// The cluster of a job: `name` with its size, or with that of the job.
std::string launch_cluster(const LaunchJob& job, const std::string& name);

}  // namespace plumb
