#pragma once

#include "tools/options/option_table.hpp"
#include "tools/terminal/command_line.hpp"

namespace plumb {

/// Fills the variables of `options` from a command line; `--help` is an option of every command. False when help was
/// asked for and printed. Every mistake is an `Error` that names the command and the option; unknown options come with
/// the nearest known one.
bool parse_command_line(const OptionTable& options, const CommandLine& arguments);

/// The text of `--help`.
std::string help_text(const OptionTable& options);

}  // namespace plumb
