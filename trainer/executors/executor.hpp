#pragma once

#include <span>
#include <string_view>

#include "trainer/executors/run_part.hpp"

namespace plumb {

/// One row of the table of executors. All give the same bits.
struct Executor {
  std::string_view name;
  std::string_view summary;
  bool waits = false;   ///< devices run at once and wait for each other
  bool queues = false;  ///< the thread issues work that the devices do later (trainer/executors/stream_run.hpp)
  /// Returns when all devices have reached their limits. Rethrows the first exception of a device, after all stopped.
  void (*run)(const RunPart& part);
};

std::span<const Executor> executors();

/// Returns the executor that runs of the back end have when none is named.
std::string_view usual_executor(const Backend& backend);

/// Returns the executor called `name`. Throws `Error` with the nearest name.
const Executor& executor(std::string_view name);

}  // namespace plumb
