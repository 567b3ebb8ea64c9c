#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "models/ground/file_kinds.hpp"

namespace plumb {

/// What a program may take and print.
struct ProgramLimits {
  std::chrono::milliseconds time = std::chrono::minutes(2);
  std::size_t output_bytes = kScheduleFile.most_bytes;
};

/// Whether an argument asks for a program to be run that prints a schedule: "exec:FILE". Nothing else is ever run.
bool is_schedule_program(const std::string& name_or_file);

/// Throws `Error` when the file `path` is a program ("#!" or ELF), which is no schedule as such: the message tells of
/// exec:FILE.
void check_is_no_program(const std::string& path);

/// Runs the program of "exec:FILE" with `arguments` and returns what it printed; its standard error is ours. Throws
/// `Error` when it cannot be run, ends with another status than 0, prints nothing, or exceeds a limit; it is then
/// killed, with the programs that it started.
std::string schedule_program_output(const std::string& program, const std::vector<std::string>& arguments,
                                    const ProgramLimits& limits = {});

}  // namespace plumb
