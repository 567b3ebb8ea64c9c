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

  bool is_first() const { return rank == 0; }
};

/// Runs a command in all processes of the job that mpirun has started.
using RunShared = ExitStatus (*)(const std::function<ExitStatus(const ProcessShare&)>& command);

}  // namespace plumb
