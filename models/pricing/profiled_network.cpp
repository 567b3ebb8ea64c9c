#include "models/pricing/profiled_network.hpp"

#include <algorithm>
#include <memory>
#include <string>

#include "models/ground/error.hpp"
#include "models/jobs/job_costs.hpp"
#include "models/stages/network_costs.hpp"

namespace plumb {
namespace {

/// Returns rates of kernels that take no time beside their work, on a device of which nothing else is known.
KernelRates rates_without_overhead(const DeviceSpec& device) {
  KernelRates rates;
  rates.device = device.name;
  rates.gemm_efficiency = rates.attention_forward = rates.attention_backward = device.compute_efficiency;
  rates.set_memory_shares(device.memory_efficiency);
  rates.kernel_ns = 0;
  rates.memory_reserve = 0;
  rates.workspace_bytes = 0;
  return rates;
}

void check_undivided(const Network& network, const Parallelism& parallelism) {
  if (parallelism.devices_per_stage() != 1 || parallelism.recompute != ActivationRecompute::kNone ||
      (parallelism.microbatch_size != 0 && parallelism.microbatch_size != network.samples)) {
    throw Error("network '" + network.name +
                "': has measured layers, expected one device per stage, no recompute, and microbatches of " +
                std::to_string(network.samples) + " samples");
  }
}

}  // namespace

bool is_profiled(const Network& network) {
  return std::ranges::any_of(network.layers, [](const LayerSpec& layer) { return layer.kind == LayerKind::kProfiled; });
}

std::vector<std::int64_t> profiled_layer_times(const Network& network, const Cluster& cluster,
                                               const Parallelism& parallelism) {
  check_undivided(network, parallelism);
  return job_layer_times(network, {cluster, 1, rates_without_overhead(cluster.devices.front())}, parallelism);
}

StageCosts profiled_network_costs(const Network& network, const Partition& partition, const Cluster& cluster,
                                  const Parallelism& parallelism) {
  check_undivided(network, parallelism);
  const KernelRates rates = rates_without_overhead(cluster.devices.front());
  const JobPrices prices(network, {cluster, 1, rates}, parallelism);
  StageCosts costs = prices.stages(partition, static_cast<std::int32_t>(partition.num_stages())).costs;
  costs.part = parts_in_proportion(std::make_shared<const Network>(network), partition,
                                   {network.samples, network.sequence}, costs.memory);
  estimate_host_copies(costs, cluster);
  return costs;
}

}  // namespace plumb
