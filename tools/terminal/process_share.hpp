#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "tools/terminal/command_line.hpp"

namespace plumb {

/// The part of a command that one of several processes does. Alone by default.
struct ProcessShare {
  std::size_t rank = 0;
  std::size_t size = 1;
  /// Does the same in all processes; an `Error` of any of them is told once.
  std::function<void(const std::function<void()>&)> prepare = [](const std::function<void()>& work) { work(); };
  /// Gives the texts of all processes to the first one, by rank; the result in the others means nothing.
  std::function<std::vector<std::string>(const std::string&)> gather = {};
  /// Gives them to all of them.
  std::function<std::vector<std::string>(const std::string&)> exchange = {};

  bool is_first() const { return rank == 0; }
};

/// How many processes mpirun, or srun with PMI, has started together with this one, as they tell it in the environment;
/// "1" without them.
std::string mpi_job_size();

/// Runs a command in all processes of the job that mpirun has started.
using RunShared = ExitStatus (*)(const std::function<ExitStatus(const ProcessShare&)>& command);

/// Runs `part` of the command `name` in every process that mpirun has started, or alone. `shared` is null in a program
/// without MPI, which throws `Error` where there are others.
ExitStatus run_in_job(const char* name, RunShared shared, const std::function<ExitStatus(const ProcessShare&)>& part);

}  // namespace plumb
