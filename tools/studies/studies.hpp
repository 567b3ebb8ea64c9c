#pragma once

#include "tools/terminal/command_line.hpp"

namespace plumb {

/// Runs `reproduce STUDY [OPTIONS]`, or explains it for `help reproduce STUDY`. Throws `Error` for unknown names, and
/// what the study throws. Adding a study: its declaration here, its row in `studies.cpp`, its name in
/// tools/claims/study_names.hpp.
ExitStatus run_study(const CommandLine& arguments);

ExitStatus run_reproduce_pipemare(const CommandLine& arguments);
ExitStatus run_reproduce_planners(const CommandLine& arguments);
ExitStatus run_reproduce_public(const CommandLine& arguments);

}  // namespace plumb
