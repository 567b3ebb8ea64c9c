#pragma once

#include <array>
#include <string>
#include <string_view>

namespace plumb {

/// A command line without the program's name, and what it is for.
struct Example {
  std::string_view command;
  std::string_view meaning;
};

/// What the help of a command shows first.
using Examples = std::array<Example, 3>;

/// The examples of the command whose usage begins with the longest known name; none: null.
const Examples* examples_of(std::string_view usage);

/// "examples:" and each with its meaning, which stands above a long one; empty for null.
std::string examples_text(const Examples* examples);

/// The width of a short help.
inline constexpr std::size_t kShortHelpColumns = 80;

/// The width of a whole help: that of the terminal, but at most 110, because longer lines are hard to read.
std::size_t help_columns();

/// The first two, each with its meaning where there is room, and on two lines where it is long.
std::string short_examples_text(const Examples& examples);

}  // namespace plumb
