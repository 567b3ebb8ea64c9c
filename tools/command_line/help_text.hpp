#pragma once

#include <optional>
#include <string>

#include "tools/options/option_table.hpp"
#include "tools/terminal/command_line.hpp"

namespace plumb {

/// The text of `-h`: usage, one sentence, the options that most people need, two examples, and where the others are. In
/// `kShortHelpColumns`.
std::string short_help_text(const OptionTable& options);

/// The text of `--help`: all options by group; a closed group only names its options.
std::string help_text(const OptionTable& options);

/// The text of `--help GROUP`: the groups whose title has this word, or the option of this name; "all": every group,
/// open. Throws `Error` with the nearest group for another word.
std::string help_text(const OptionTable& options, const std::string& group);

/// The help that a command line asks for by `-h`, `--help` or `--help GROUP`; nothing where it asks for none.
std::optional<std::string> asked_help(const OptionTable& options, const CommandLine& arguments);

}  // namespace plumb
