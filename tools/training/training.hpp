#pragma once

#include <string>

#include "tools/terminal/command_line.hpp"

namespace plumb {

ExitStatus run_profile(const CommandLine& arguments);
ExitStatus run_train(const CommandLine& arguments);
ExitStatus run_stability(const CommandLine& arguments);
ExitStatus run_weights(const CommandLine& arguments);
ExitStatus run_demo(const CommandLine& arguments);

/// The lines of `version` that say with what this build can train: back ends, executors, transports.
std::string trainer_abilities();

}  // namespace plumb
