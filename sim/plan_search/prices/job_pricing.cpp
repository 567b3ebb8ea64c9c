#include "sim/plan_search/prices/job_pricing.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "models/cluster/speed_only.hpp"
#include "models/ground/error.hpp"
#include "models/jobs/job_places.hpp"
#include "models/pricing/job_price_book.hpp"
#include "models/pricing/profiled_network.hpp"
#include "sim/plan_search/prices/layer_prices.hpp"

namespace plumb {
namespace {

std::int64_t limit_of(const DeviceSpec& device, const PricingLimits& limits) {
  return limits.memory_bytes > 0 ? limits.memory_bytes : device.memory_bytes;
}

/// Returns the price of the devices of every place; nothing where they have no prices.
std::vector<double> place_prices(const Cluster& cluster, const Parallelism& job, std::size_t places) {
  if (cluster.devices.front().price_per_hour <= 0) return {};
  std::vector<double> prices(places);
  std::size_t place = 0;
  for (const PlaceDevices& devices : place_devices(cluster, job, static_cast<std::int32_t>(places))) {
    const auto end = std::min<std::int64_t>(devices.end(), std::ssize(cluster.devices));
    for (std::int64_t at = devices.first; at < end; ++at) {
      prices[place] += cluster.devices[static_cast<std::size_t>(at)].price_per_hour;
    }
    ++place;
  }
  return prices;
}

/// Prices copies to the host, also at a speed that is given instead of that of the cluster's link.
void price_host_copies(PricedStages& stages, double host_bytes_per_s) {
  if (host_bytes_per_s <= 0) return;
  StageCosts& costs = stages.costs;
  HostLink& link = stages.pipeline.host_link;
  if (link.bytes_per_s > 0) link = {.latency_ns = link.latency_ns, .bytes_per_s = host_bytes_per_s};
  for (std::size_t s = 0; s < costs.times.size(); ++s) {
    const double seconds = static_cast<double>(stash_bytes(costs.memory[s])) / host_bytes_per_s;
    const Ticks ticks = std::max<Ticks>(1, std::llround(seconds * 1e9));
    costs.times[s].evict = costs.times[s].load = ticks;
  }
}

/// What crosses a cut is then what the layer before it makes.
bool is_chain_of_profiles(const Network& network) {
  return std::all_of(network.layers.begin(), network.layers.end(), [](const LayerSpec& layer) {
    return layer.kind == LayerKind::kProfiled && layer.input.empty() && layer.from.empty();
  });
}

PricedStages profiled_stages(const Network& network, const Cluster& cluster, const Parallelism& parallelism,
                             const Partition& partition) {
  return {.costs = profiled_network_costs(network, partition, cluster, parallelism),
          .pipeline = cluster,
          .sums = is_chain_of_profiles(network)};
}

/// What may be chosen for every stage.
void set_choices(JobPriceBook& book, const Parallelism& parallelism, const Partition& partition, PricedStages& stages) {
  if (parallelism.has_unlike_tensor()) return;
  stages.recomputable = book.prices(parallelism)->recomputable(partition);
  for (std::size_t s = 0; s < partition.num_stages(); ++s) {
    const LayerRange range = partition.range(s);
    stages.shardable.push_back(static_cast<std::int32_t>(range.end - range.begin));
  }
}

}  // namespace

StagePricing job_pricing(const Network& network, const Cluster& cluster, const std::optional<KernelRates>& rates,
                         const PricingLimits& limits) {
  if (is_profiled(network)) {
    return [network, cluster = with_speeds_only(cluster), limits](
               const Parallelism& parallelism, const Partition& partition, std::int32_t, const StageChoices& choices) {
      PricedStages stages = profiled_stages(network, cluster, parallelism, partition);
      stages.runtime = limits.runtime;
      for (const DeviceSpec& device : cluster.devices) stages.usable_bytes.push_back(limit_of(device, limits));
      price_host_copies(stages, limits.host_bytes_per_s);
      for (StageMemory& memory : stages.costs.memory) {
        if (parallelism.offload_by_stage && choices.offloaded.empty()) memory.stash.clear();
      }
      stages.price_per_hour = place_prices(cluster, {}, cluster.devices.size());
      return stages;
    };
  }
  const auto book = std::make_shared<JobPriceBook>(std::make_shared<const Network>(network),
                                                   std::make_shared<const Cluster>(cluster), rates);
  return [book, limits](const Parallelism& parallelism, const Partition& partition, std::int32_t places,
                        const StageChoices& choices) {
    JobCosts job = book->costs(parallelism, partition, places, choices);
    PricedStages stages{.costs = std::move(job.costs), .pipeline = std::move(job.pipeline)};
    stages.least = std::move(job.least);
    set_choices(*book, parallelism, partition, stages);
    stages.stage_update = job.stage_update;
    stages.runtime = limits.runtime;
    for (const DeviceSpec& device : stages.pipeline.devices) {
      stages.usable_bytes.push_back(largest_peak(limit_of(device, limits), job.rates, limits.margin));
    }
    price_host_copies(stages, limits.host_bytes_per_s);
    stages.price_per_hour = place_prices(*book->cluster(), parallelism, stages.pipeline.devices.size());
    return stages;
  };
}

}  // namespace plumb
