#pragma once

#include "models/launches/launch.hpp"
#include "models/launches/settings.hpp"

namespace plumb {

/// The job of a DeepSpeed configuration: batches, ZeRO, precision, pipeline. It says nothing of the network.
LaunchJob deepspeed_job(const Settings& settings);

}  // namespace plumb
