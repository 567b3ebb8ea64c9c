#include "tools/commands/command.hpp"

#include <algorithm>
#include <array>
#include <sstream>

#include "models/ground/error.hpp"
#include "tools/terminal/output_file.hpp"

namespace plumb {
namespace {

constexpr std::array kCommands{
    Command{"schedules", "list the schedules that Plumbline knows", run_schedules},
    Command{"schedule", "write the document of a schedule", run_schedule},
    Command{"validate", "check a schedule document", run_validate},
    Command{"convert", "rewrite a schedule in another format", run_convert},
    Command{"simulate", "predict timeline, bubbles and memory of a schedule", run_simulate},
    Command{"profile", "measure what actions take on this machine", run_profile},
    Command{"train", "really train a model with a schedule", run_train},
    Command{"compare", "lay one timeline over another", run_compare},
    Command{"sweep", "simulate schedules over ranges of sizes", run_sweep},
    Command{"plan", "decide where to cut a network, as published planners do", run_plan},
    Command{"stability", "learning rates for which delayed descent is stable", run_stability},
    Command{"reproduce", "run published claims again", run_reproduce},
    Command{"networks", "list the built-in networks, or print one", run_networks},
    Command{"clusters", "list the built-in clusters, or print one", run_clusters},
    Command{"demo", "predict, really train, compare: two minutes", run_demo},
    Command{"version", "print the version and what this build can do", run_version},
};

void print_help() {
  std::ostringstream out;
  out << "plumbline: which pipeline schedule, and what will it cost me?\n\n"
         "usage: plumbline COMMAND [OPTIONS]\n\n";
  for (const Command& command : kCommands) {
    out << "  " << command.name << std::string(12 - command.name.size(), ' ') << command.summary << '\n';
  }
  out << "\nplumbline COMMAND --help explains a command and its options.\n";
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
