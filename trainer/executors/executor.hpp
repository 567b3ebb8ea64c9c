#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "trainer/device/device_worker.hpp"
#include "trainer/transport/mailbox.hpp"

namespace plumb {

class StreamRun;

/// A part of a run: every device goes on to its limit. The limits are a consistent cut: nothing before them waits for
/// anything behind them.
struct RunPart {
  const Program& program;
  std::span<const std::unique_ptr<DeviceWorker>> workers;  ///< by device; null: not here
  std::span<const InstrIndex> limits;                      ///< by device
  Mailbox& mailbox;
  const StreamRun* streams = nullptr;  ///< of executors with `queues`
};

/// One row of the table of executors. All give the same bits.
struct Executor {
  std::string_view name;
  std::string_view summary;
  bool waits = false;   ///< devices run at once and wait for each other
  bool queues = false;  ///< devices work behind the thread that issues (trainer/executors/stream_run.hpp)
  /// Returns when all devices have reached their limits. Rethrows the first exception of a device, after all stopped.
  void (*run)(const RunPart& part);
};

std::span<const Executor> executors();

/// The executor that runs of the back end have when none is named.
std::string_view usual_executor(const Backend& backend);

/// The executor called `name`. Throws `Error` with the nearest name.
const Executor& executor(std::string_view name);

}  // namespace plumb
