#pragma once

#include <string>
#include <vector>

namespace plumb {

/// Whether `path` is a program that prints a schedule: an executable file whose name ends in no schedule format.
bool is_schedule_program(const std::string& path);

/// Runs the program with `arguments` and returns what it printed; its standard error is ours. Throws `Error` when it
/// cannot be run, ends with another status than 0, or prints nothing.
std::string schedule_program_output(const std::string& path, const std::vector<std::string>& arguments);

}  // namespace plumb
