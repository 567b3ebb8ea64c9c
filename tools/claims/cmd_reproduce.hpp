#pragma once

#include "tools/terminal/command_line.hpp"

namespace plumb {

/// `reproduce`, but for the studies (results/*/study.py).
ExitStatus run_reproduce(const CommandLine& arguments);

}  // namespace plumb
