#pragma once

#include <cstdint>

#include "models/cluster/cluster.hpp"
#include "models/costs/stage_costs.hpp"

namespace plumb {

/// Bytes of the largest message between stages; 0 when memory is not modelled.
std::int64_t largest_message(const StageCosts& costs);

/// Of the first `num_devices` devices of `cluster`, what the largest message between stages takes on the slowest link
/// between neighbours, alone: what schedules that are searched for their costs take for every edge. 0 where no bytes
/// are known and links have no latency.
Ticks longest_edge(const StageCosts& costs, const Cluster& cluster, std::int32_t num_devices);

}  // namespace plumb
