#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/launches/shell_values.hpp"

namespace plumb {

/// A word of a command, and the line that it stands in.
struct ShellWord {
  std::string text;
  std::size_t line = 0;
};

/// What a script comes to when it is followed without running anything.
struct ShellRun {
  std::vector<std::vector<ShellWord>> commands;  ///< commands that would have run, in their order
  std::map<std::string, std::string> files;      ///< files that it would have written from its own text
  std::vector<std::string> not_followed;         ///< "12: if [ -f x ]"
  std::map<std::string, std::string> started{};  ///< scripts that its commands start, by name
  ShellValues values;                            ///< at its end
};

/// Opens the file that a script reads in ("source FILE"); none: it cannot be read.
using ShellSource = std::function<std::optional<std::string>(const std::string& path)>;

/// Follows a script in the language of bash as far as it assigns variables: conditions, cases, loops over words,
/// functions and here-documents. Nothing is run; what depends on other programs or on files is not known, and
/// conditions on it are not followed. `first_line` is that of the first line. `given` are the variables of its
/// environment; what they have cost counts. Throws `Error` with `name` and the line for what is no script, and for one
/// that takes too many steps or whose values grow beyond any use.
ShellRun follow_shell_script(std::string_view script, const std::string& name, ShellValues given,
                             const ShellSource& source = {}, std::size_t first_line = 1);

}  // namespace plumb
