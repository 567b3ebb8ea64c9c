#pragma once

#include <string_view>

#include "tools/devices/kernel_timings.hpp"

namespace plumb {

/// How often a benchmark ran each kernel, one after the other.
struct TimedRuns {
  double products = 1;
  double attentions = 1;
};

/// Makes kernels as long as they are in a step that lasts, on the slowest device of a node. A device at its power limit
/// lowers its clock after some tens of milliseconds of heavy work, so a benchmark of short kernels is over before that;
/// as it gets warm, it lowers it further for seconds; and devices of a node differ in the clock that the limit leaves
/// them. Where short products outrun all that were timed for long by more than a tenth,
///
/// * products that were timed for long take as much longer as the line through the rates of those that were timed for
///   half a second and more has fallen until the longest of them, if it falls by more than twice its standard error;
/// * no other is taken to be faster than the median of those of its pass;
/// * attention that was timed shortly takes as much longer as the same heads took over a longer sequence, per FLOP,
///   when they were timed for long;
/// * all of them take 2.5 % longer: one device was timed, and a step waits for the slowest.
///
/// Timings without such a gap stay as they are (a card whose clock had fallen before: A100 on PCIe).
void keep_sustained_rates(KernelTimings& timings, const TimedRuns& runs);

/// Returns what a system file of SimuMax (github.com/MooreThreads/SimuMax, configs/system/*.json) has measured:
/// products by shape, grouped products, fused attention, kinds of kernels that move bytes, collectives inside a node.
/// Its shares become the times that SimuMax computes from them: attention counts whole scores though the mask halves
/// them, bandwidths are in GiB/s, grouped products keep the forward's sizes in every pass, and a collective of n ranks
/// takes latency_us (n + offset) scale + fixed_latency_us besides its bytes. Throws `Error`.
KernelTimings simumax_timings(std::string_view text, std::string_view file_name);

}  // namespace plumb
