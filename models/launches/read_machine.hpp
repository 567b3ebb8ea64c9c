#pragma once

#include <string>
#include <string_view>

#include "models/launches/launch.hpp"
#include "models/launches/settings.hpp"
#include "models/launches/shell_script.hpp"

namespace plumb {

/// Sets the number of nodes and of their devices that `run` asks a scheduler for, where `settings` do not know them:
/// options of sbatch, salloc and srun, then the #SBATCH lines of the script and of those that it starts, then variables
/// with the usual names (NNODES, GPUS_PER_NODE).
void add_scheduler_options(const ShellRun& run, std::string_view script, Settings& settings);

/// Takes the nodes and the devices of a job from its settings.
void set_machine(const Settings& settings, LaunchJob& job);

}  // namespace plumb
