#pragma once

#include "sim/traces/readers/rank_run.hpp"

namespace plumb {

/// Sorts a host's work by start. Throws `Error` where one work begins before another one ends: a rank's program does
/// one thing at a time, so these ranges are not what they are taken for.
void put_host_in_order(RankRun& run);

/// Sorts a device's work by step and start. Where kernels of two actions ran at once, the second action has the time
/// that the first one leaves; the program turns to each action when the one before it is done.
void put_device_in_order(RankRun& run);

}  // namespace plumb
