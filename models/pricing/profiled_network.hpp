#pragma once

#include <cstdint>
#include <vector>

#include "models/cluster/cluster.hpp"
#include "models/costs/stage_costs.hpp"
#include "models/jobs/parallelism.hpp"
#include "models/network/network.hpp"
#include "models/stages/partition.hpp"

namespace plumb {

/// Returns whether layers of `network` have measured times (`LayerKind::kProfiled`).
bool is_profiled(const Network& network);

/// Returns the nanoseconds of every layer of a network with measured layers, and costs of its stages: the times that
/// were measured, on devices of the speed of the first one, and nothing beside them. Throws `Error` for a job that
/// spreads such layers over several devices, recomputes them, or has microbatches of another size.
std::vector<std::int64_t> profiled_layer_times(const Network& network, const Cluster& cluster,
                                               const Parallelism& parallelism);
StageCosts profiled_network_costs(const Network& network, const Partition& partition, const Cluster& cluster,
                                  const Parallelism& parallelism);

}  // namespace plumb
