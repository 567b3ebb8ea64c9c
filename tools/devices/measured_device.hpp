#pragma once

#include <vector>

#include "models/cluster/cluster.hpp"
#include "models/kernels/kernel_rates.hpp"
#include "tools/devices/kernel_timings.hpp"

namespace plumb {

/// Returns one node of the devices that were timed. Peaks are the best rates that were seen: of a product, of a copy
/// (or of another kernel that moves bytes, where that was faster), of a collective; memory as the device says. Throws
/// `Error` where no product was timed.
Cluster measured_cluster(const KernelTimings& timings);

/// Returns the rates whose shares are of the peaks of `cluster`. Products, attention and collectives become tables;
/// shares beside them, and of kinds of movement that were timed, are (geometric) means; what was not timed keeps its
/// value in `base`.
KernelRates measured_rates(const KernelTimings& timings, const Cluster& cluster, KernelRates base);

/// Returns a latency and a share of what links give for every collective and group that was timed at two sizes or more:
/// least squares of relative errors over all sizes. Groups must fit into `cluster`; throws `Error` otherwise.
std::vector<CollectivePoint> measured_collectives(const std::vector<TimedCollective>& timed, const Cluster& cluster);

}  // namespace plumb
