#pragma once

#include <span>
#include <string_view>

#include "tools/terminal/command_line.hpp"

namespace plumb {

/// One row of the command table.
struct Command {
  std::string_view name;
  std::string_view summary;
  ExitStatus (*run)(const CommandLine& arguments);
};

/// All commands, in the order of the help page. Adding one: `cmd_<name>.cpp`, its declaration here, its row in
/// `command.cpp`, its page in tools/commands.
std::span<const Command> command_table();

/// Runs one command line (without the program's name). Throws what the command throws.
ExitStatus run_command(const CommandLine& arguments);

ExitStatus run_schedules(const CommandLine& arguments);
ExitStatus run_schedule(const CommandLine& arguments);
ExitStatus run_validate(const CommandLine& arguments);
ExitStatus run_simulate(const CommandLine& arguments);
ExitStatus run_profile(const CommandLine& arguments);
ExitStatus run_train(const CommandLine& arguments);
ExitStatus run_compare(const CommandLine& arguments);
/// `plan` without a published planner's name.
ExitStatus run_plan_search(const CommandLine& arguments);
ExitStatus run_sweep(const CommandLine& arguments);
ExitStatus run_convert(const CommandLine& arguments);
ExitStatus run_stability(const CommandLine& arguments);
ExitStatus run_reproduce(const CommandLine& arguments);
/// `reproduce pipemare`.
ExitStatus run_reproduce_pipemare(const CommandLine& arguments);
ExitStatus run_plan(const CommandLine& arguments);
/// `reproduce planners`.
ExitStatus run_reproduce_planners(const CommandLine& arguments);
/// `reproduce public`.
ExitStatus run_reproduce_public(const CommandLine& arguments);
ExitStatus run_networks(const CommandLine& arguments);
ExitStatus run_clusters(const CommandLine& arguments);
ExitStatus run_demo(const CommandLine& arguments);
ExitStatus run_version(const CommandLine& arguments);

}  // namespace plumb
