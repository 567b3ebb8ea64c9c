#pragma once

#include <cstdint>
#include <numeric>
#include <optional>
#include <string>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/error.hpp"
#include "models/import/load_network.hpp"
#include "sim/plan_search/placed_schedule.hpp"
#include "sim/plan_search/prices/job_pricing.hpp"
#include "sim/plan_search/prices/network_prices.hpp"
#include "sim/plan_search/schedule_variants.hpp"

namespace plumb::testing {

/// Embedding, four blocks and a head of a real network on eight devices of a real cluster: four places of two tensor
/// ranks, eight microbatches, and `share` percent of the memory that four of them in flight would take.
class SmallTransformerJob {
 public:
  explicit SmallTransformerJob(std::int64_t share) {
    Network network = load_network("gpt2-medium");
    network.layers.erase(network.layers.begin() + 5, network.layers.end() - 2);
    const Cluster cluster = load_cluster("a100");
    job = {.num_layers = network.layers.size(), .num_devices = 8, .batch = 8};
    job.price = job_pricing(network, cluster, std::nullopt, {});
    const LayerPrices roomy = layer_prices(job, parallelism, 4, false);
    const std::int64_t kept = std::accumulate(roomy.kept_bytes.begin(), roomy.kept_bytes.end(), std::int64_t{0});
    const PricedStages one = job.price(parallelism, Partition{{0, job.num_layers}}, 4, {});
    const std::int64_t beside = cluster.devices.front().memory_bytes - one.usable_bytes.front();
    const std::int64_t tensors = roomy.whole_held_bytes / 2 + kept * 4 * share / 100;
    job.price = job_pricing(network, cluster, std::nullopt, {.memory_bytes = tensors + beside});
    paired = layer_prices(job, parallelism, 4, true);
  }

  /// Of the plan on places in order; 0: it does not fit or cannot be.
  std::int64_t step(const ScheduleVariant& variant, std::int32_t places, const Partition& cut) const {
    PipelinePlan plan{.parallelism = parallelism,
                      .places = places,
                      .microbatches = microbatches,
                      .schedule = std::string(variant.spec->name),
                      .chunks = variant.chunks,
                      .partition = cut};
    plan.order.resize(static_cast<std::size_t>(places));
    std::iota(plan.order.begin(), plan.order.end(), 0);
    try {
      const ScoredPlan score = simulate_plan(plan, job.price).score;
      return score.fits() ? score.step_ns : 0;
    } catch (const Error&) {
      return 0;
    }
  }

  Parallelism parallelism{.tensor = 2, .sequence_parallel = true, .microbatch_size = 1};
  std::int64_t microbatches = 8;
  PlanJob job{};
  LayerPrices paired{};
};

}  // namespace plumb::testing
