#include "tools/commands/command.hpp"

#include <algorithm>
#include <sstream>

#include "models/ground/error.hpp"
#include "tools/terminal/output_file.hpp"

namespace plumb {
namespace {

/// `run`, or what says that this program has no such command.
std::function<ExitStatus(const CommandLine&)> of_trainer(const char* name, TrainerCommands::Run run) {
  if (run != nullptr) return run;
  return [name](const CommandLine&) -> ExitStatus {
    throw Error(std::string(name) + ": this program was built without the trainer; `./plumbline " + name +
                "` in the source tree builds the program that has it (its target: plumbline)");
  };
}

void print_help(const std::vector<Command>& commands) {
  std::ostringstream out;
  out << "plumbline: which pipeline schedule, and what will it cost me?\n\n"
         "usage: plumbline COMMAND [OPTIONS]\n\n";
  for (const Command& command : commands) {
    out << "  " << command.name << std::string(12 - command.name.size(), ' ') << command.summary << '\n';
  }
  out << "\nplumbline COMMAND --help explains a command and its options.\n";
  print(out.str());
}

const Command& find_command(const std::vector<Command>& commands, std::string_view name) {
  const auto found = std::find_if(commands.begin(), commands.end(), [&](const Command& c) { return c.name == name; });
  if (found != commands.end()) return *found;
  std::vector<std::string_view> names;
  for (const Command& command : commands) names.push_back(command.name);
  throw_unknown("command", name, names);
}

}  // namespace

std::vector<Command> command_table(const TrainerCommands& trainer) {
  const auto version = [trainer](const CommandLine& arguments) { return run_version(arguments, trainer.abilities); };
  return {
      {"schedules", "list the schedules that Plumbline knows", run_schedules},
      {"schedule", "write the document of a schedule", run_schedule},
      {"validate", "check a schedule document", run_validate},
      {"convert", "rewrite a schedule in another format", run_convert},
      {"simulate", "predict timeline, bubbles and memory of a schedule", run_simulate},
      {"profile", "measure what actions take on this machine", of_trainer("profile", trainer.profile)},
      {"train", "really train a model with a schedule", of_trainer("train", trainer.train)},
      {"compare", "lay one timeline over another", run_compare},
      {"sweep", "simulate schedules over ranges of sizes", run_sweep},
      {"plan", "decide where to cut a network, as published planners do", run_plan},
      {"stability", "learning rates for which delayed descent is stable", of_trainer("stability", trainer.stability)},
      {"reproduce", "run published claims again", of_trainer("reproduce", trainer.reproduce)},
      {"networks", "list the built-in networks, or print one", run_networks},
      {"clusters", "list the built-in clusters, or print one", run_clusters},
      {"demo", "predict, really train, compare: two minutes", of_trainer("demo", trainer.demo)},
      {"version", "print the version and what this build can do", version},
  };
}

ExitStatus run_command(const std::vector<Command>& commands, const CommandLine& arguments) {
  if (arguments.empty()) {
    print_help(commands);
    return ExitStatus::kWrongInput;
  }
  const std::string& name = arguments.front();
  const CommandLine rest(arguments.begin() + 1, arguments.end());
  if (name == "--version") return find_command(commands, "version").run(rest);
  if (name == "help" && !rest.empty()) return find_command(commands, rest.front()).run({"--help"});
  if (name == "help" || name == "--help" || name == "-h") {
    print_help(commands);
    return ExitStatus::kDone;
  }
  return find_command(commands, name).run(rest);
}

}  // namespace plumb
