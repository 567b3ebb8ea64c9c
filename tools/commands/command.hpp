#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/terminal/command_line.hpp"
#include "tools/terminal/process_share.hpp"

namespace plumb {

/// One row of the command table.
struct Command {
  std::string_view name;
  std::string_view summary;
  std::function<ExitStatus(const CommandLine& arguments)> run;
};

/// The commands that need the trainer, which a program may be linked with or not. A member is null in a program that
/// was built without the trainer.
struct TrainerCommands {
  using Run = ExitStatus (*)(const CommandLine& arguments);

  Run profile = nullptr;
  Run train = nullptr;
  Run weights = nullptr;
  Run reproduce = nullptr;
  Run demo = nullptr;
  RunShared shared = nullptr;
  std::string (*abilities)() = nullptr;  ///< the lines of `version` that say what the trainer can do
};

/// All commands, in the order of the help page, whatever the program is linked with: a command whose function is
/// missing throws an `Error` that says how to get it. Adding one: `cmd_<name>.cpp`, its declaration here (or in
/// tools/training/training.hpp), its row in `command.cpp`, its page (`<name>.md`) beside it.
std::vector<Command> command_table(const TrainerCommands& trainer);

/// Runs one command line (without the program's name). Throws what the command throws.
ExitStatus run_command(const std::vector<Command>& commands, const CommandLine& arguments);

ExitStatus run_ask(const CommandLine& arguments);
ExitStatus run_campaign_command(const CommandLine& arguments);
ExitStatus run_explore(const CommandLine& arguments);
/// `list schedules`, `list models` and `list clusters` are the three commands of these names.
ExitStatus run_list(const CommandLine& arguments);
ExitStatus run_schedules(const CommandLine& arguments);
ExitStatus run_schedule(const CommandLine& arguments);
ExitStatus run_validate(const CommandLine& arguments);
ExitStatus run_search(const CommandLine& arguments);
ExitStatus run_simulate(const CommandLine& arguments);
ExitStatus run_trace(const CommandLine& arguments);
ExitStatus run_advise(const CommandLine& arguments);
ExitStatus run_compare(const CommandLine& arguments);
ExitStatus run_stability(const CommandLine& arguments);
/// `shared` is null in a program without MPI, here and below.
ExitStatus run_sweep(const CommandLine& arguments, RunShared shared);
ExitStatus run_convert(const CommandLine& arguments);
ExitStatus run_plan(const CommandLine& arguments, RunShared shared);
ExitStatus run_networks(const CommandLine& arguments);
ExitStatus run_clusters(const CommandLine& arguments);
ExitStatus run_device(const CommandLine& arguments);
/// `commands`: all of this program.
ExitStatus run_completion(const CommandLine& arguments, const std::vector<Command>& commands);
ExitStatus run_manual(const CommandLine& arguments, const std::vector<Command>& commands);
/// `abilities` is null in a program without the trainer.
ExitStatus run_version(const CommandLine& arguments, std::string (*abilities)());

}  // namespace plumb
