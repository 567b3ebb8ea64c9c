#include "sim/plan_search/prices/job_pricing.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "models/cluster/speed_only.hpp"
#include "models/ground/error.hpp"
#include "models/jobs/alike_layers.hpp"
#include "models/jobs/job_costs.hpp"
#include "models/jobs/job_passes.hpp"
#include "models/jobs/job_places.hpp"
#include "models/jobs/unlike_tensor.hpp"
#include "models/kernels/kernel_rates_io.hpp"
#include "models/sources/roofline.hpp"
#include "sim/plan_search/prices/layer_prices.hpp"

namespace plumb {
namespace {

std::int64_t limit_of(const DeviceSpec& device, const PricingLimits& limits) {
  return limits.memory_bytes > 0 ? limits.memory_bytes : device.memory_bytes;
}

/// Of the devices of every place; empty where they have no prices.
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

/// At the speed that is given instead of that of the cluster's link, too.
void price_host_copies(PricedStages& stages, double host_bytes_per_s) {
  if (host_bytes_per_s <= 0) return;
  StageCosts& costs = stages.costs;
  HostLink& link = stages.pipeline.host_link;
  if (link.bytes_per_s > 0) link = {.latency_ns = link.latency_ns, .bytes_per_s = host_bytes_per_s};
  for (std::size_t s = 0; s < costs.times.size(); ++s) {
    const double seconds = static_cast<double>(stash_bytes(costs.memory[s])) / host_bytes_per_s;
    const Ticks ticks = std::max<Ticks>(1, std::llround(seconds * 1e9 * static_cast<double>(costs.base.ticks_per_ns)));
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
  if (parallelism.devices_per_stage() != 1 || parallelism.recompute != ActivationRecompute::kNone ||
      (parallelism.microbatch_size != 0 && parallelism.microbatch_size != network.samples)) {
    throw Error("network '" + network.name +
                "': has measured layers, expected one device per stage, no recompute, and microbatches of " +
                std::to_string(network.samples) + " samples");
  }
  const RooflineOptions options{.shape = {network.samples, network.sequence}, .precision = parallelism.precision};
  return {.costs = roofline_costs(network, partition, cluster, options),
          .pipeline = cluster,
          .sums = is_chain_of_profiles(network)};
}

/// Of the degrees and choices in which jobs of one search differ.
struct ChoiceHash {
  std::size_t operator()(const Parallelism& choice) const {
    std::size_t hash = 0;
    const auto add = [&](std::int64_t number) { hash = hash * 1'000'003 + static_cast<std::size_t>(number); };
    for (const std::int64_t degree : {choice.tensor, choice.context, choice.expert, choice.data}) add(degree);
    add(choice.microbatch_size);
    add(static_cast<std::int64_t>(choice.zero));
    add(static_cast<std::int64_t>(choice.recompute));
    for (const std::int32_t tensor : choice.tensor_by_place) add(tensor);
    add((choice.zero_by_layer ? 1 : 0) + (choice.offload_by_stage ? 2 : 0) + (choice.sequence_parallel ? 4 : 0));
    return hash;
  }
};

/// Prices of a job for every choice of degrees that was asked for. Those with the same passes share them.
class PricesByChoice {
 public:
  PricesByChoice(Network network, Cluster cluster, const std::optional<KernelRates>& rates)
      : network_(std::move(network)),
        cluster_(std::move(cluster)),
        rates_(rates ? *rates : kernel_rates_of(cluster_.devices.front())),
        alike_(first_alike(network_.layers)) {}

  const Cluster& cluster() const { return cluster_; }

  JobCosts costs(const Parallelism& choice, const Partition& partition, std::int32_t places,
                 const StageChoices& choices) {
    if (!choice.has_unlike_tensor()) return of(choice)->costs(partition, places, choices);
    return unlike_job_costs(cluster_, choice, partition, choices, [&](std::int64_t tensor) {
      return of(with_tensor(choice, tensor))->stages(partition, places);
    });
  }

  std::shared_ptr<const JobPrices> of(const Parallelism& choice) {
    return known(prices_, choice, [&] {
      check_parallelism(network_, choice);
      check_devices(cluster_, choice, 1);
      return std::make_shared<const JobPrices>(network_, JobMachine{cluster_, 1, rates_}, choice, passes(choice));
    });
  }

 private:
  template <class T>
  using ByChoice = std::unordered_map<Parallelism, std::shared_ptr<const T>, ChoiceHash>;

  /// With what `make` makes where nothing is known yet.
  template <class T, class Make>
  std::shared_ptr<const T> known(ByChoice<T>& all, const Parallelism& choice, const Make& make) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = all.find(choice); found != all.end()) return found->second;
    }
    std::shared_ptr<const T> made = make();
    const std::lock_guard lock(mutex_);
    return all.try_emplace(choice, std::move(made)).first->second;
  }

  std::shared_ptr<const JobPasses> passes(const Parallelism& choice) {
    return known(passes_, with_same_passes(choice),
                 [&] { return std::make_shared<const JobPasses>(network_, cluster_, rates_, choice, alike_); });
  }

  Network network_;
  Cluster cluster_;
  KernelRates rates_;
  std::vector<std::int32_t> alike_;
  std::mutex mutex_;
  ByChoice<JobPrices> prices_;
  ByChoice<JobPasses> passes_;
};

/// What may be chosen for every stage.
void set_choices(PricesByChoice& known, const Parallelism& parallelism, const Partition& partition,
                 PricedStages& stages) {
  if (parallelism.has_unlike_tensor()) return;
  stages.recomputable = known.of(parallelism)->recomputable(partition);
  for (std::size_t s = 0; s < partition.num_stages(); ++s) {
    const LayerRange range = partition.range(s);
    stages.shardable.push_back(static_cast<std::int32_t>(range.end - range.begin));
  }
}

}  // namespace

bool is_profiled(const Network& network) {
  return std::any_of(network.layers.begin(), network.layers.end(),
                     [](const LayerSpec& layer) { return layer.kind == LayerKind::kProfiled; });
}

std::int64_t usable_bytes(std::int64_t memory_bytes, const KernelRates& rates) {
  if (memory_bytes == 0) return 0;
  const std::int64_t room = memory_bytes - rates.context_bytes - rates.library_bytes;
  auto usable = static_cast<std::int64_t>(static_cast<double>(room) / (1 + rates.memory_reserve));
  while (usable > 0 && usable + std::llround(rates.memory_reserve * static_cast<double>(usable)) > room) --usable;
  return std::max<std::int64_t>(1, usable);
}

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
  const auto known = std::make_shared<PricesByChoice>(network, cluster, rates);
  return [known, limits](const Parallelism& parallelism, const Partition& partition, std::int32_t places,
                         const StageChoices& choices) {
    JobCosts job = known->costs(parallelism, partition, places, choices);
    PricedStages stages{.costs = std::move(job.costs), .pipeline = std::move(job.pipeline)};
    stages.least = std::move(job.least);
    set_choices(*known, parallelism, partition, stages);
    stages.stage_update = job.stage_update;
    stages.runtime = limits.runtime;
    for (const DeviceSpec& device : stages.pipeline.devices) {
      stages.usable_bytes.push_back(usable_bytes(limit_of(device, limits), job.rates));
    }
    price_host_copies(stages, limits.host_bytes_per_s);
    stages.price_per_hour = place_prices(known->cluster(), parallelism, stages.pipeline.devices.size());
    return stages;
  };
}

}  // namespace plumb
