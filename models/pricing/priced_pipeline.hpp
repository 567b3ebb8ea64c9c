#pragma once

#include <memory>
#include <optional>
#include <string>

#include "models/cluster/cluster.hpp"
#include "models/costs/stage_costs.hpp"
#include "models/kernels/kernel_rates.hpp"
#include "models/network/network.hpp"
#include "models/stages/partition.hpp"

namespace plumb {

/// What the stages of a pipeline cost, and on what that stands.
struct PricedPipeline {
  StageCosts costs{};
  std::optional<Cluster> cluster{};          ///< one device per place of the pipeline; none: edges are latencies
  std::shared_ptr<const Network> network{};  ///< none where costs are abstract or those of a traced run
  std::optional<Partition> partition{};
  std::optional<KernelRates> rates{};  ///< rates of a job on devices: what they hold beside tensors is known
  std::string stands_on{};             ///< what the times of a job rest on: "rates fitted to 57 measured steps; ..."
  std::string description{};           ///< "F=1,B=2", "gpt2-xl on a100, tp 2, layers 25,26,25,23; rates ..."

  const Cluster* cluster_pointer() const { return cluster ? &*cluster : nullptr; }
};

}  // namespace plumb
