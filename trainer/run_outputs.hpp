#pragma once

#include "sim/rules/run_times.hpp"
#include "trainer/loss_log.hpp"
#include "trainer/microbatch_cache.hpp"
#include "trainer/run_clock.hpp"
#include "trainer/transport.hpp"

namespace plumb {

class DeviceQueue;

/// What the worker of a device writes to besides its own memory.
struct RunOutputs {
  const RunClock& clock;
  Transport& transport;
  RunTimes& times;  ///< every worker writes the entries of its own instrs, and of the messages it receives
  LossLog& losses;
  MicrobatchCache& data;
  DeviceQueue* queue = nullptr;  ///< of the device; null: work is done when a call returns
};

}  // namespace plumb
