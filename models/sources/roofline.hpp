#pragma once

#include <cstdint>
#include <vector>

#include "models/cluster/cluster.hpp"
#include "models/costs/stage_costs.hpp"
#include "models/network/network.hpp"
#include "models/stages/partition.hpp"

namespace plumb {

struct RooflineOptions {
  MicrobatchShape shape;
  Precision precision = kMixedPrecision;
  std::int64_t launch_ns = 0;  ///< added to every pass of every layer (kernel launches)
};

/// Time of every layer's F + I + W in nanoseconds, as `balanced_partition` takes them.
std::vector<std::int64_t> roofline_layer_times(const Network& network, const Cluster& cluster,
                                               const RooflineOptions& options);

/// Analytic costs of the stages of `partition` on the devices of `cluster`.
///
/// Each pass of each layer takes
///     max( FLOPs / (flops_per_s * compute_efficiency), bytes / (memory_bytes_per_s * memory_efficiency) ) + launch
/// with the FLOPs and bytes of models/layers/layer_facts.hpp, on a device of speed 1 (the lowering applies speeds). B =
/// I + W, R = F. An update moves, per parameter, the gradient once and weight and optimizer state twice (read and
/// write). Memory, tied weights and work are filled in. Devices may differ in speed only; `Error` otherwise.
StageCosts roofline_costs(const Network& network, const Partition& partition, const Cluster& cluster,
                          const RooflineOptions& options);

}  // namespace plumb
