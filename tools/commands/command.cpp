#include "tools/commands/command.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "models/ground/error.hpp"
#include "models/ground/text_stream.hpp"
#include "tools/terminal/notes.hpp"
#include "tools/terminal/output_file.hpp"
#include "tools/terminal/terminal.hpp"
#include "tools/terminal/text_table.hpp"

namespace plumb {
namespace {

/// `run`, or what says that this program has no such command.
std::function<ExitStatus(const CommandLine&)> of_trainer(const char* name, TrainerCommands::Run run) {
  if (run != nullptr) return run;
  return [name](const CommandLine&) -> ExitStatus { throw NotInProgram(name, "the trainer", name, "plumbline"); };
}

/// What most people come with, and the command that answers it.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kFirstCommands{{
    {"plan", "Which configuration is fastest for my model on my GPUs?"},
    {"simulate", "How long is a step, where are the bubbles, does it fit in memory?"},
    {"compare", "Does a run agree with the prediction, and if not, why?"},
    {"trace", "Where are the bubbles of a run that I have traced?"},
    {"advise", "Which schedule would make that run faster?"},
    {"validate", "Is my own schedule correct and free of deadlocks?"},
    {"list", "Which schedules, models and clusters are built in?"},
    {"explore", "Can I try this in a browser?"},
}};

void print_first_screen() {
  TextStream out;
  out << "plumbline simulates, trains and compares pipeline-parallel training schedules.\n\n"
         "usage: plumbline COMMAND [OPTIONS]\n\n";
  for (const auto& [name, question] : kFirstCommands) {
    out << "  " << name << std::string(10 - name.size(), ' ') << question << '\n';
  }
  out << "\n`plumbline COMMAND -h` is a short help, `plumbline --help` lists all commands.\n";
  print(out.str());
}

void print_help(const std::vector<Command>& commands) {
  TextStream out;
  out << "plumbline simulates, trains and compares pipeline-parallel training schedules.\n\n"
         "usage: plumbline COMMAND [OPTIONS]\n\n";
  for (const Command& command : commands) {
    out << "  " << command.name << std::string(12 - command.name.size(), ' ')
        << wrapped(command.summary, kDefaultColumns, 14) << '\n';
  }
  out << "\n`plumbline COMMAND -h` explains a command briefly, `plumbline COMMAND --help`\n"
         "with all its options.\n";
  print(out.str());
}

/// First tries at commands, and what was meant.
constexpr std::array<std::pair<std::string_view, std::string_view>, 17> kOtherCommands{{
    {"ls", "schedules"},
    {"show", "schedules"},
    {"models", "networks"},
    {"model", "networks"},
    {"network", "networks"},
    {"cluster", "clusters"},
    {"gpus", "clusters"},
    {"hardware", "clusters"},
    {"run", "simulate"},
    {"sim", "simulate"},
    {"draw", "simulate"},
    {"plot", "simulate"},
    {"check", "validate"},
    {"diff", "compare"},
    {"optimize", "plan"},
    {"tune", "plan"},
    {"explorer", "explore"},
}};

const Command& find_command(const std::vector<Command>& commands, std::string_view name) {
  const auto called = [&](std::string_view wanted) { return std::ranges::find(commands, wanted, &Command::name); };
  if (const auto found = called(name); found != commands.end()) return *found;
  const auto other = std::ranges::find(kOtherCommands, name, &std::pair<std::string_view, std::string_view>::first);
  if (other != kOtherCommands.end()) {
    note("plumbline: note: '" + std::string(name) + "' is read as '" + std::string(other->second) + "'");
    return *called(other->second);
  }
  std::vector<std::string_view> names;
  for (const Command& command : commands) names.push_back(command.name);
  throw_unknown("command", name, names);
}

}  // namespace

std::vector<Command> command_table(const TrainerCommands& trainer) {
  const auto version = [trainer](const CommandLine& arguments) { return run_version(arguments, trainer.abilities); };
  const auto sweep = [trainer](const CommandLine& arguments) { return run_sweep(arguments, trainer.shared); };
  const auto plan = [trainer](const CommandLine& arguments) { return run_plan(arguments, trainer.shared); };
  const auto completion = [trainer](const CommandLine& arguments) {
    return run_completion(arguments, command_table(trainer));
  };
  const auto manual = [trainer](const CommandLine& arguments) { return run_manual(arguments, command_table(trainer)); };
  return {
      {"list", "list the built-in schedules, models or clusters, or describe one", run_list},
      {"schedules", "list the built-in schedules", run_schedules},
      {"schedule", "write a schedule to a file, or explain how to run it in PyTorch and Megatron-LM", run_schedule},
      {"validate", "check that a schedule is valid and does not deadlock", run_validate},
      {"convert", "convert a schedule to another format", run_convert},
      {"simulate", "predict the timeline, bubbles and memory of a schedule", run_simulate},
      {"profile", "measure how long each stage takes on this machine", of_trainer("profile", trainer.profile)},
      {"train", "train a model with a schedule and measure it", of_trainer("train", trainer.train)},
      {"trace", "read a real run from its profiler's traces and say where its bubbles are", run_trace},
      {"advise", "say from one run's traces what other schedules would give", run_advise},
      {"weights", "write the weights of a model for PyTorch, or list their names",
       of_trainer("weights", trainer.weights)},
      {"compare", "draw schedules and runs on one time axis, or compare a run with its prediction", run_compare},
      {"sweep", "simulate schedules over ranges of sizes and list the best", sweep},
      {"plan", "find the fastest parallel configuration for a cluster", plan},
      {"search", "find the best order for given costs and memory, with a proof of how good it is", run_search},
      {"campaign", "simulate a job over days while nodes fail and leave, by the rules of published systems",
       run_campaign_command},
      {"explore", "write a page that simulates in a browser", run_explore},
      {"ask", "answer a request document, for programs", run_ask},
      {"stability", "find the largest stable learning rate of asynchronous training", run_stability},
      {"reproduce", "reproduce published results", of_trainer("reproduce", trainer.reproduce)},
      {"networks", "list the built-in models, or print one", run_networks},
      {"clusters", "list the built-in clusters, or print one", run_clusters},
      {"device", "measure, import or fit how fast a type of device is", run_device},
      {"demo", "predict, train and compare a small model on this machine", of_trainer("demo", trainer.demo)},
      {"completion", "print a script that completes command lines, for bash or zsh", completion},
      {"manual", "print the manual page", manual},
      {"version", "print the version and the back ends of this build", version},
  };
}

ExitStatus run_command(const std::vector<Command>& commands, const CommandLine& arguments) {
  if (arguments.empty()) {
    print_first_screen();
    return ExitStatus::kWrongInput;
  }
  const std::string& name = arguments.front();
  const CommandLine rest(arguments.begin() + 1, arguments.end());
  if (name == "--version") return find_command(commands, "version").run(rest);
  if (name == "-h" || (name == "help" && rest.empty())) {
    print_first_screen();
    return ExitStatus::kDone;
  }
  if (name == "--help" || (name == "help" && rest.front() == "--all")) {
    print_help(commands);
    return ExitStatus::kDone;
  }
  if (name == "help") {
    CommandLine words{"--help"};
    words.insert(words.end(), rest.begin() + 1, rest.end());
    return find_command(commands, rest.front()).run(words);
  }
  return find_command(commands, name).run(rest);
}

}  // namespace plumb
