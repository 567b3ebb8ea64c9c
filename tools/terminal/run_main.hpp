#pragma once

#include <functional>

#include "tools/terminal/command_line.hpp"

namespace plumb {

/// Runs `program` and returns the exit status for `main`. What it throws is reported on standard error in one line.
/// Standard input, output and error that are closed become unusable descriptors first, so that no file that is opened
/// later gets the number of one of them, and with it the text that was meant for a terminal.
int run_main(const std::function<ExitStatus()>& program);

}  // namespace plumb
