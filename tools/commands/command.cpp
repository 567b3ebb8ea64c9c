#include "tools/commands/command.hpp"

#include <algorithm>
#include <array>
#include <sstream>

#include "models/ground/error.hpp"
#include "tools/terminal/output_file.hpp"

namespace plumb {
namespace {

constexpr std::array kCommands{
    Command{"schedules", "list the built-in schedules", run_schedules},
    Command{"schedule", "write a schedule to a file, or explain how to run it in PyTorch and Megatron-LM",
            run_schedule},
    Command{"validate", "check that a schedule is valid and does not deadlock", run_validate},
    Command{"convert", "convert a schedule to another format", run_convert},
    Command{"simulate", "predict the timeline, bubbles and memory of a schedule", run_simulate},
    Command{"profile", "measure how long each stage takes on this machine", run_profile},
    Command{"train", "train a model with a schedule and measure it", run_train},
    Command{"compare", "compare two timelines, such as a prediction and a measurement", run_compare},
    Command{"sweep", "simulate schedules over ranges of sizes and list the best", run_sweep},
    Command{"plan", "find the fastest parallel configuration for a cluster", run_plan},
    Command{"stability", "find the largest stable learning rate of asynchronous training", run_stability},
    Command{"reproduce", "reproduce published results", run_reproduce},
    Command{"networks", "list the built-in models, or print one", run_networks},
    Command{"clusters", "list the built-in clusters, or print one", run_clusters},
    Command{"demo", "predict, train and compare a small model on this machine", run_demo},
    Command{"version", "print the version and the back ends of this build", run_version},
};

void print_help() {
  std::ostringstream out;
  out << "plumbline simulates, trains and compares pipeline-parallel training schedules.\n\n"
         "usage: plumbline COMMAND [OPTIONS]\n\n";
  for (const Command& command : kCommands) {
    out << "  " << command.name << std::string(12 - command.name.size(), ' ') << command.summary << '\n';
  }
  out << "\n`plumbline COMMAND --help` explains a command and its options.\n";
  print(out.str());
}

const Command& find_command(std::string_view name) {
  const auto found = std::find_if(kCommands.begin(), kCommands.end(), [&](const Command& c) { return c.name == name; });
  if (found != kCommands.end()) return *found;
  std::vector<std::string_view> names;
  for (const Command& command : kCommands) names.push_back(command.name);
  throw_unknown("command", name, names);
}

}  // namespace

std::span<const Command> command_table() { return kCommands; }

ExitStatus run_command(const CommandLine& arguments) {
  if (arguments.empty()) {
    print_help();
    return ExitStatus::kWrongInput;
  }
  const std::string& name = arguments.front();
  const CommandLine rest(arguments.begin() + 1, arguments.end());
  if (name == "--version") return run_version(rest);
  if (name == "help" && !rest.empty()) return find_command(rest.front()).run({"--help"});
  if (name == "help" || name == "--help" || name == "-h") {
    print_help();
    return ExitStatus::kDone;
  }
  return find_command(name).run(rest);
}

}  // namespace plumb
