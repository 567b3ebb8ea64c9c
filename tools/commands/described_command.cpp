#include "tools/commands/described_command.hpp"

#include <array>
#include <utility>

#include "models/ground/error.hpp"
#include "tools/command_line/table_watch.hpp"

namespace plumb {
namespace {

struct Subcommand {
  std::string_view command;
  std::string_view words;  ///< behind it, separated by spaces
};

/// Words behind which a command has other options.
constexpr std::array kSubcommands{Subcommand{"plan", "--method pipedream"}, Subcommand{"plan", "--jobs jobs.json"},
                                  Subcommand{"device", "measure"}, Subcommand{"device", "import"},
                                  Subcommand{"device", "fit"}};

DescribedCommand described(const std::string& name, const std::string& summary, const OptionTable& table) {
  DescribedCommand command{name, summary, table.usage(), table.summary()};
  command.groups = table.groups();
  for (const PositionalArgument& argument : table.arguments()) {
    command.arguments.push_back(argument.placeholder + (argument.several ? "..." : ""));
  }
  return command;
}

/// Has no options of its own.
constexpr std::string_view kOnlySubcommands = "device";

/// Adds the command of `words`; one that this program does not have is left out.
void add_command(const Command& command, const CommandLine& words, std::vector<DescribedCommand>& all) {
  const TableWatch watch([&](const OptionTable& table) {
    const std::string name = std::string(command.name) + (words.empty() ? "" : " " + words.front());
    all.push_back(described(name, std::string(command.summary), table));
  });
  try {
    command.run(words);
  } catch (const Error&) {  // a command of the trainer in a program without it, or one of subcommands alone
    if (words.empty())
      all.push_back({std::string(command.name), std::string(command.summary), std::string(command.name), ""});
  }
}

}  // namespace

std::vector<Option> DescribedCommand::options() const {
  std::vector<Option> all;
  for (const OptionGroup& group : groups) all.insert(all.end(), group.options.begin(), group.options.end());
  return all;
}

std::vector<DescribedCommand> described_commands(const std::vector<Command>& commands) {
  std::vector<DescribedCommand> all;
  for (const Command& command : commands) {
    if (command.name == kOnlySubcommands) {
      all.push_back(
          {std::string(command.name), std::string(command.summary), std::string(command.name) + " ACTION", ""});
    } else {
      add_command(command, {}, all);
    }
    for (const Subcommand& sub : kSubcommands) {
      if (sub.command == command.name) add_command(command, split(sub.words, ' '), all);
    }
  }
  return all;
}

ValueKind value_kind(const Option& option) {
  if (option.kind == OptionKind::kFlag) return ValueKind::kNone;
  if (option.name == "network") return ValueKind::kNetwork;
  if (option.name == "cluster") return ValueKind::kCluster;
  if (option.name == "schedule") return ValueKind::kSchedule;
  return option.placeholder.find("FILE") == std::string::npos ? ValueKind::kOther : ValueKind::kFile;
}

ValueKind argument_kind(const DescribedCommand& command, const std::string& placeholder) {
  if (command.name == "networks") return ValueKind::kNetwork;
  if (command.name == "clusters") return ValueKind::kCluster;
  return placeholder.find("NAME") == std::string::npos ? ValueKind::kFile : ValueKind::kSchedule;
}

}  // namespace plumb
