#pragma once

#include <string>
#include <vector>

#include "tools/commands/command.hpp"
#include "tools/options/option_table.hpp"

namespace plumb {

/// A command as manuals and completions tell of it.
struct DescribedCommand {
  std::string name;         ///< "simulate", "device measure"
  std::string summary;      ///< half a line
  std::string usage;        ///< what follows the program's name
  std::string description;  ///< a paragraph
  std::vector<OptionGroup> groups{};
  std::vector<std::string>
      arguments{};  ///< placeholders of those without names; a "..." follows one that may be several

  /// All options of all groups.
  std::vector<Option> options() const;
};

/// Every command that this program has, in the order of the table, with the subcommands that have options of their own.
std::vector<DescribedCommand> described_commands(const std::vector<Command>& commands);

/// What the value of an option or an argument is: where a completion finds the words.
enum class ValueKind { kNone, kOther, kFile, kSchedule, kNetwork, kCluster };

ValueKind value_kind(const Option& option);
/// Of an argument of `command` with this placeholder.
ValueKind argument_kind(const DescribedCommand& command, const std::string& placeholder);

}  // namespace plumb
