#pragma once

#include <string>

#include "models/cluster/cluster.hpp"
#include "models/kernels/kernel_rates.hpp"
#include "models/network/network.hpp"
#include "tools/devices/kernel_timings.hpp"

namespace plumb {

/// Returns the step of `network` on one device of `cluster`, as its kernels' rates give it; what was timed beside it
/// says in which shape (`timings.step` need not be there).
TimedStep step_of_kernels(const Network& network, const KernelTimings& timings, const Cluster& cluster,
                          const KernelRates& rates);

/// Returns how a device's kernels do: by kind and pass the number of shapes and their shares of the peak.
std::string timings_text(const KernelTimings& timings, const Cluster& cluster, const KernelRates& rates);

/// Predicted against measured parts of a step, with the error of each.
std::string step_check_text(const TimedStep& predicted, const TimedStep& measured);

}  // namespace plumb
