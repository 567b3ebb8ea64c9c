#pragma once

#include <string_view>

#include "tools/devices/kernel_timings.hpp"

namespace plumb {

/// Returns what a system file of SimuMax (github.com/MooreThreads/SimuMax, configs/system/*.json) has measured:
/// products by shape, grouped products, fused attention, kinds of kernels that move bytes, collectives inside a node.
/// Its shares become the times that SimuMax computes from them: attention counts whole scores though the mask halves
/// them, bandwidths are in GiB/s, grouped products keep the forward's sizes in every pass, and a collective of n ranks
/// takes latency_us (n + offset) scale + fixed_latency_us besides its bytes. Throws `Error`.
KernelTimings simumax_timings(std::string_view text, std::string_view file_name);

}  // namespace plumb
