#pragma once

#include "models/launches/launch.hpp"
#include "models/launches/settings.hpp"

namespace plumb {

/// What DeepSpeed does by itself. Gradients are added up by kernels of their own. A pipeline in bf16 without ZeRO runs
/// its `BF16_Optimizer`, which keeps the states of a data rank's share, as ZeRO 1, and sums gradients in 4 bytes
/// (deepspeed/runtime/engine.py, `_do_optimizer_sanity_check`).
void run_by_deepspeed(bool bf16, LaunchJob& job);

/// Returns the job of a DeepSpeed configuration: batches, ZeRO, precision, pipeline. It says nothing of the network.
LaunchJob deepspeed_job(const Settings& settings);

}  // namespace plumb
