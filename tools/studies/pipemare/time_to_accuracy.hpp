#pragma once

#include <string>
#include <vector>

#include "tools/reports/plot_page.hpp"
#include "tools/studies/pipemare/study_runs.hpp"

namespace plumb {

/// When every update of a run would be done on a cluster.
struct SimulatedClock {
  std::vector<double> seconds;  ///< by update
  double utilization = 0;
  std::int64_t peak_memory_bytes = 0;  ///< of the fullest device
};

/// Simulates a `train` command's schedule, network and partition on `cluster` (a name or a file). Throws `Error` as
/// `simulate` does.
SimulatedClock simulated_clock(const std::string& train_command, const std::string& cluster);

/// Quality against simulated seconds of every method of a task at its best rate: steps come from the runs, the time of
/// each from the simulator. One diagram per cluster to choose from (`clusters`: names or files), each with a table of
/// the time to the task's target. Methods that cannot run there are named in the table.
PlotCard time_to_accuracy(const Study& study, const StudyTask& task, const std::vector<StudyRun>& runs,
                          const std::vector<std::string>& clusters);

}  // namespace plumb
