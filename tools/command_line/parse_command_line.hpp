#pragma once

#include <functional>

#include "tools/options/option_table.hpp"
#include "tools/terminal/command_line.hpp"

namespace plumb {

/// `arguments` with the words of other systems and of first tries as the options that `table` has: `--pp 4` as
/// `--devices 4`, `-o a.svg` as `--svg a.svg`. Each is noted once. Words that `table` declares itself stay as they are,
/// and so do unknown ones.
CommandLine in_our_words(const CommandLine& arguments, const OptionTable& table);

/// What to say of an option that `table` lacks, after "unknown COMMAND option 'NAME'": what is meant, or where all
/// options are listed. `name` as it was given, "--batch".
std::string unknown_option_text(const std::string& name, const OptionTable& table);

/// Shows the options of commands to whoever describes them, such as a manual: while an object lives,
/// `parse_command_line` hands its table to the watch instead of parsing, and returns false, as for `--help`.
class TableWatch {
 public:
  using See = std::function<void(const OptionTable& table)>;

  explicit TableWatch(See see);
  TableWatch(const TableWatch&) = delete;
  TableWatch& operator=(const TableWatch&) = delete;
  ~TableWatch();

  /// Null where nobody watches.
  static const See* current();

 private:
  See see_;
  const See* outer_;
};

/// Fills the variables of `options` from a command line; `-h` and `--help` are options of every command
/// (help_text.hpp). False when help was asked for and printed. Every mistake is an `Error` that names the command and
/// the option; unknown options come with the nearest known one.
bool parse_command_line(const OptionTable& options, const CommandLine& arguments);

}  // namespace plumb
