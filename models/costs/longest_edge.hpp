#pragma once

#include <cstdint>

#include "models/cluster/cluster.hpp"
#include "models/costs/stage_costs.hpp"

namespace plumb {

/// Returns the bytes of the largest message between stages; 0 where neither they nor memory are given.
std::int64_t largest_message(const StageCosts& costs);

/// Returns the time of the largest message between stages, alone on the slowest link between neighbours among the first
/// `num_devices` devices of `cluster`. Schedules that are searched for given costs use it for every edge. 0 if no bytes
/// are known and links have no latency.
Ticks longest_edge(const StageCosts& costs, const Cluster& cluster, std::int32_t num_devices);

}  // namespace plumb
