#pragma once

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

}  // namespace plumb
