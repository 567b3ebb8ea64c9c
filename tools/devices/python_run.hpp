#pragma once

#include <string>
#include <vector>

namespace plumb {

/// Runs a program found in PATH with our standard output and error and waits for it. Throws `Error` when it cannot be
/// run; returns its exit status (128 + signal for one that was killed).
int run_program(const std::vector<std::string>& words);

}  // namespace plumb
