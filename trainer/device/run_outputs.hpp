#pragma once

#include "sim/rules/run_times.hpp"
#include "trainer/data/microbatch_cache.hpp"
#include "trainer/ground/device_clock.hpp"
#include "trainer/transport/loss_log.hpp"
#include "trainer/transport/transport.hpp"

namespace plumb {

class DeviceQueue;

/// What the worker of a device writes to besides its own memory.
struct RunOutputs {
  DeviceClock& clock;  ///< of the device
  Transport& transport;
  RunTimes& times;  ///< every worker writes the entries of its own instrs, and of the messages it receives
  LossLog& losses;
  MicrobatchCache& data;
  DeviceQueue* queue = nullptr;  ///< queue of the device; null: work is done when a call returns
};

}  // namespace plumb
