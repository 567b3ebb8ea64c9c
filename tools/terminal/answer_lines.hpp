#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace plumb {

/// The first lines of an answer: what was found, in a sentence or less, and an empty line.
std::string verdict_text(std::string_view found);

/// A sentence below a table, in lines as wide as the terminal.
std::string sentence_text(std::string_view sentence);

/// Lines that begin with blanks, such as those of options, each in lines as wide as the terminal; further ones begin
/// with two more blanks.
std::string lines_within_terminal(std::string_view lines);

/// `command`, after `indent` blanks, in lines of at most `columns` characters that a shell joins: a blank and a
/// backslash end all but the last one.
std::string command_lines(std::string_view command, std::size_t columns, std::size_t indent);

/// The last lines of an answer: "next:" and a command that can be copied into a shell. Empty without a command.
std::string next_text(std::string_view command);

}  // namespace plumb
