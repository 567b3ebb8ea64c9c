#pragma once

#include <functional>

#include "tools/terminal/command_line.hpp"

namespace plumb {

/// Runs `program` and returns the exit status for `main`. What it throws is reported on standard error in one line;
/// where `reports_errors` is false (of several processes with the same arguments only the first tells), an `Error` is
/// left untold and the status is 0.
int run_main(const std::function<ExitStatus()>& program, bool reports_errors = true);

}  // namespace plumb
