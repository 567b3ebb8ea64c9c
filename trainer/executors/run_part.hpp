#pragma once

#include <memory>
#include <span>

#include "trainer/device/device_worker.hpp"
#include "trainer/transport/mailbox.hpp"

namespace plumb {

class StreamRun;

/// A part of a run: every device runs to its limit. The limits are a consistent cut: nothing before them waits for
/// anything after them.
struct RunPart {
  const Program& program;
  std::span<const std::unique_ptr<DeviceWorker>> workers;  ///< by device; null: not here
  std::span<const InstrIndex> limits;                      ///< by device
  Mailbox& mailbox;
  const StreamRun* streams = nullptr;  ///< streams of executors with `queues`
};

}  // namespace plumb
