#pragma once

#include <functional>
#include <string>

#include "tools/terminal/command_line.hpp"
#include "tools/terminal/process_share.hpp"

namespace plumb {

ExitStatus run_profile(const CommandLine& arguments);
ExitStatus run_train(const CommandLine& arguments);
ExitStatus run_weights(const CommandLine& arguments);
ExitStatus run_demo(const CommandLine& arguments);

/// Runs `command` in all processes that mpirun has started, of which this is one.
ExitStatus run_shared(const std::function<ExitStatus(const ProcessShare&)>& command);

/// The lines of `version` that say with what this build can train: back ends, executors, transports.
std::string trainer_abilities();

}  // namespace plumb
