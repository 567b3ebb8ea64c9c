#pragma once

#include "tools/devices/kernel_timings.hpp"

namespace plumb {

/// How often a benchmark ran each kernel, one after the other.
struct TimedRuns {
  double products = 1;
  double attentions = 1;
};

/// Makes kernels as long as they are in a step that lasts. A device at its power limit lowers its clock after some tens
/// of milliseconds of heavy work, so a benchmark of short kernels is over before that: its rates are those of a clock
/// that no step keeps. Where short products outrun all that were timed for long by more than a tenth, no product is
/// taken to be faster than the median of those of its pass that were timed for long, and attention that was timed
/// shortly takes as much longer as the same heads took over a longer sequence, per FLOP, when they were timed for long.
/// Timings without such a gap stay as they are (a card whose clock had fallen before: A100 on PCIe).
void keep_sustained_rates(KernelTimings& timings, const TimedRuns& runs);

}  // namespace plumb
