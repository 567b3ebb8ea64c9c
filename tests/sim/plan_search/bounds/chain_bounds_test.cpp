#include "sim/plan_search/bounds/chain_bounds.hpp"
#include "sim/plan_search/prices/network_prices.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "models/ground/error.hpp"
#include "sim/plan_search/bounds/holder_bounds.hpp"
#include "sim/plan_search/bounds/packing_bounds.hpp"
#include "sim/plan_search/bounds/plan_bounds.hpp"
#include "sim/plan_search/placed_schedule.hpp"
#include "sim/plan_search/plan_cuts.hpp"
#include "sim/plan_search/prices/job_pricing.hpp"
#include "sim/plan_search/schedule_variants.hpp"
#include "tests/support/profiled_network.hpp"

TEST_SUITE_BEGIN("plan search");

using namespace plumb;
using plumb::testing::profiled_network;

namespace {

/// A chain of profiles and a cluster on which memory, links and places are all short in some instances.
struct ShortJob {
  Network network{};
  Cluster cluster{};
  PlanJob job{};
};

std::int64_t drawn(std::mt19937& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

ShortJob short_job(std::uint32_t seed, std::int32_t nodes, std::int32_t per_node) {
  std::mt19937 random(seed);
  ShortJob made;
  const std::int64_t layers = drawn(random, 3, 5);
  made.network = profiled_network("short", static_cast<std::size_t>(layers), [&](std::size_t) {
    return ProfiledFigures{.f_ns = drawn(random, 100, 2000),
                           .i_ns = drawn(random, 100, 2000),
                           .w_ns = drawn(random, 0, 2000),
                           .parameter_bytes = drawn(random, 1, 20) * 4000,
                           .output_bytes = drawn(random, 1, 50) * 2000,
                           .kept_for_input_grad_bytes = drawn(random, 0, 20) * 10000,
                           .kept_for_weight_grad_bytes = drawn(random, 0, 20) * 10000};
  });
  made.cluster.name = "short";
  made.cluster.devices_per_node = per_node;
  for (std::int32_t d = 0; d < nodes * per_node; ++d) {
    made.cluster.devices.push_back({.name = "device",
                                    .flops_per_s = 1e12,
                                    .memory_bytes_per_s = 1e12,
                                    .memory_bytes = seed % 2 == 0 ? 0 : drawn(random, 8, 16) * 150'000,
                                    .speed = seed % 3 == 0 && d == 0 ? 0.75 : 1.0});
  }
  made.cluster.intra_node = {.latency_ns = drawn(random, 0, 100), .bytes_per_s = 1e11, .shared = seed % 5 == 0};
  made.cluster.inter_node = {.latency_ns = drawn(random, 100, 1000), .bytes_per_s = 2e10, .shared = seed % 2 == 0};
  made.cluster.host_link = {.latency_ns = 10, .bytes_per_s = seed % 4 == 0 ? 0 : 2e11};
  made.cluster.finish();
  made.job = {.num_layers = made.network.layers.size(),
              .num_devices = nodes * per_node,
              .batch = drawn(random, 1, 6),
              .price = job_pricing(made.network, made.cluster, std::nullopt, {})};
  return made;
}

LayerPrices prices_of(const PlanJob& job) {
  return layer_prices(job, Parallelism{.microbatch_size = 1}, static_cast<std::int32_t>(job.num_devices), false);
}

/// Simulates; nothing where the plan cannot be.
std::optional<ScoredPlan> tried(const PipelinePlan& plan, const PlanJob& job) {
  try {
    return simulate_plan(plan, job.price).score;
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// The bound by what the lists of a schedule have in pairs; 0: it cannot have the size, or depends on costs.
Ticks by_counts(const ScheduleVariant& variant, const LayerPrices& prices, std::int32_t places,
                std::int64_t microbatches) {
  try {
    const auto counts = KnownPassCounts().of(variant, places, microbatches);
    return counts ? packing_bound(prices, places, microbatches, kinds_of({variant}), {.counts = *counts}) : 0;
  } catch (const Error&) {
    return 0;
  }
}

/// Every way to give `places` holders to `stages` stages.
std::vector<std::vector<std::int32_t>> all_holders(std::int32_t places, std::size_t stages) {
  std::vector<std::vector<std::int32_t>> all;
  if (stages == 1) return {{places}};
  for (std::int32_t first = 1; first + static_cast<std::int32_t>(stages) - 1 <= places; ++first) {
    for (std::vector<std::int32_t> rest : all_holders(places - first, stages - 1)) {
      rest.insert(rest.begin(), first);
      all.push_back(std::move(rest));
    }
  }
  return all;
}

}  // namespace

TEST_CASE("a stage needs room for its weights, the stash of one microbatch and its messages to both sides, to a byte") {
  int tried = 0;
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    const ShortJob made = short_job(seed, 1, 3);
    if (made.job.num_layers != 3) continue;  // then each is a stage
    LayerPrices prices = prices_of(made.job);
    std::int64_t needed = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      const std::int64_t in = k > 0 ? prices.memory[k - 1].output_bytes : 0;
      const std::int64_t out = k < 2 ? prices.memory[k].output_bytes : 0;
      needed = std::max(needed, prices.held_bytes[k] + prices.kept_bytes[k] + in + out);
    }
    const auto bound = [&](std::int64_t room) {
      prices.usable_bytes.assign(3, room);
      return cuts_bound(prices, 3, made.job.batch, StagePlacing::kLinear);
    };
    CHECK(bound(needed) == bound(0));  // 0: no limit
    CHECK(bound(needed - 1) > bound(0));
    ++tried;
  }
  CHECK(tried > 3);
}

TEST_CASE("no schedule of the catalogue on any cut and order that fits takes less than its setup's bounds") {
  int fitting = 0;
  int stronger = 0;
  int tighter = 0;
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    CAPTURE(seed);
    const ShortJob made = short_job(seed, 2, 2);
    const LayerPrices prices = prices_of(made.job);
    REQUIRE(!prices.times.empty());
    for (const ScheduleVariant& variant : schedule_variants({.chunks = {2}})) {
      const ScheduleKinds kinds = kinds_of({variant});
      for (const std::int32_t places : {2, 3, 4}) {
        const auto stages = static_cast<std::size_t>(variant.stages(places));
        if (stages > made.job.num_layers) continue;
        const Ticks least = setup_bound(prices, places, made.job.batch, kinds);
        const Ticks packed = packing_bound(prices, places, made.job.batch, kinds);
        tighter += packed > least ? 1 : 0;
        const Ticks counted = by_counts(variant, prices, places, made.job.batch);
        const Ticks blind = setup_bound(prices, places, made.job.batch, {.other = true});
        stronger += least > blind ? 1 : 0;
        for (const Partition& cut : all_cuts(made.job.num_layers, stages)) {
          for (const bool reversed : {false, true}) {
            PipelinePlan plan{.parallelism = Parallelism{.microbatch_size = 1},
                              .places = places,
                              .microbatches = made.job.batch,
                              .schedule = std::string(variant.spec->name),
                              .chunks = variant.chunks,
                              .partition = cut};
            for (std::int32_t k = 0; k < places; ++k) plan.order.push_back(reversed ? 3 - k : k);
            const std::optional<ScoredPlan> score = tried(plan, made.job);
            if (!score || !score->fits()) continue;
            CAPTURE(plan.schedule);
            CHECK(score->step_ns >= least);
            CHECK(score->step_ns >= packed);
            CHECK(score->step_ns >= counted);
            ++fitting;
          }
        }
      }
    }
  }
  CHECK(fitting > 1000);
  CHECK(stronger > 100);
  CHECK(tighter > 100);
}

TEST_CASE("no pipeline with stages of several holders that fits takes less than the bound") {
  int bounds_of_memory = 0;
  int bounds_of_speed = 0;
  for (std::uint32_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    ShortJob made = short_job(seed, 2, 2);
    // A slow node, or a slow place in each node.
    const std::size_t other = seed % 3 == 1 ? 3 : 1;
    if (seed % 3 != 0) made.cluster.devices[2].speed = made.cluster.devices[other].speed = 0.4;
    made.job.price = job_pricing(made.network, made.cluster, std::nullopt, {});
    const HoldersBound least = holders_bound(prices_of(made.job), made.job.batch);
    LayerPrices alike = prices_of(made.job);
    alike.speed.assign(alike.speed.size(), 1.0);
    bounds_of_speed += least.bound > holders_bound(alike, made.job.batch).bound ? 1 : 0;
    LayerPrices only_least = prices_of(made.job);  // as of stages that are not sums
    only_least.times.clear();
    only_least.memory.clear();
    const Ticks certain = holders_bound(only_least, made.job.batch).bound;
    CHECK(certain > 0);
    std::int64_t fastest = 0;
    for (std::size_t stages = 1; stages <= std::min<std::size_t>(4, made.job.num_layers); ++stages) {
      for (std::int32_t places = static_cast<std::int32_t>(stages); places <= 4; ++places) {
        for (const Partition& cut : all_cuts(made.job.num_layers, stages)) {
          for (const std::vector<std::int32_t>& holders : all_holders(places, stages)) {
            PipelinePlan plan{.parallelism = Parallelism{.microbatch_size = 1},
                              .places = places,
                              .microbatches = made.job.batch,
                              .schedule = "dapple",
                              .partition = cut,
                              .replicas = holders};
            plan.order.resize(static_cast<std::size_t>(places));
            std::iota(plan.order.begin(), plan.order.end(), 0);
            const std::optional<ScoredPlan> score = tried(plan, made.job);
            if (!score || !score->fits()) continue;
            CHECK(score->step_ns >= least.bound);
            CHECK(score->step_ns >= certain);
            CHECK(score->step_ns >= traded_bound(prices_of(made.job), 4, made.job.batch));
            if (fastest == 0 || score->step_ns < fastest) fastest = score->step_ns;
          }
        }
      }
    }
    if (fastest == 0) continue;
    REQUIRE(!least.replicas.empty());
    CHECK(std::accumulate(least.replicas.begin(), least.replicas.end(), 0) <= 4);
    CHECK(least.partition.num_layers() == made.job.num_layers);
    for (DeviceSpec& device : made.cluster.devices) device.memory_bytes = 0;
    made.job.price = job_pricing(made.network, made.cluster, std::nullopt, {});
    bounds_of_memory += least.bound > holders_bound(prices_of(made.job), made.job.batch).bound ? 1 : 0;
  }
  CHECK(bounds_of_memory >= 3);
  CHECK(bounds_of_speed >= 5);
}

TEST_CASE(
    "where there is room for one stash a holder's microbatches go one after another through all stages after it") {
  ShortJob made = short_job(2, 1, 2);
  made.network.layers.resize(2);
  made.network.layers[0].profiled = {.f_ns = 10, .i_ns = 10, .w_ns = 10, .kept_for_weight_grad_bytes = 1000};
  made.network.layers[1].profiled = {.f_ns = 20, .i_ns = 20, .w_ns = 20, .kept_for_weight_grad_bytes = 10};
  for (DeviceSpec& device : made.cluster.devices)
    device = {.name = "device", .flops_per_s = 1, .memory_bytes_per_s = 1e12, .memory_bytes = 1500};
  made.cluster.intra_node = {};
  made.job = {.num_layers = 2,
              .num_devices = 2,
              .batch = 8,
              .price = job_pricing(made.network, made.cluster, std::nullopt, {})};
  // Both hold all, a microbatch each in turn (4 x 90); or the first layer waits for the second (8 x 90).
  CHECK(holders_bound(prices_of(made.job), 8).bound == 4 * 90 - 1);
  for (DeviceSpec& device : made.cluster.devices) device.memory_bytes = 1005;
  made.job.price = job_pricing(made.network, made.cluster, std::nullopt, {});
  const HoldersBound apart = holders_bound(prices_of(made.job), 8);
  CHECK(apart.bound == 8 * 90 - 1);
  CHECK(apart.replicas == std::vector<std::int32_t>{1, 1});
  // The same byte-seconds, if forwards are not run again: layer 0 has 1000 bytes for 30 + 40 + 20 (until its input
  // gradient 80), layer 1 10 for 40.
  CHECK(traded_bound(prices_of(made.job), 2, 8) <= 8 * 90);
  CHECK(traded_bound(prices_of(made.job), 2, 8) >= 8 * 90 / 2 - 1);
}

TEST_CASE("copies of a stage share its microbatches: no bound takes the largest layer for one place's") {
  ShortJob made = short_job(2, 1, 2);
  made.network.layers.resize(2);
  made.network.layers[0].profiled = {.f_ns = 1000, .i_ns = 1000, .w_ns = 1000};
  made.network.layers[1].profiled = {.f_ns = 10, .i_ns = 10, .w_ns = 10};
  made.cluster.intra_node = {};
  made.job = {.num_layers = 2,
              .num_devices = 2,
              .batch = 16,
              .price = job_pricing(made.network, made.cluster, std::nullopt, {})};
  const PipelinePlan plan{.parallelism = Parallelism{.microbatch_size = 1},
                          .places = 2,
                          .microbatches = 16,
                          .schedule = "chimera",
                          .partition = Partition{{0, 1, 2}},
                          .order = {0, 1}};
  const std::optional<ScoredPlan> score = tried(plan, made.job);
  REQUIRE(score);
  CHECK(score->step_ns < 16 * 3000);
  CHECK(score->step_ns >=
        setup_bound(prices_of(made.job), 2, 16, kinds_of(schedule_variants({.chunks = {}, .schedules = {"chimera"}}))));
  CHECK(setup_bound(prices_of(made.job), 2, 16, kinds_of(schedule_variants({.chunks = {}, .schedules = {"1f1b"}}))) >=
        16 * 3000);
}

TEST_CASE("a cut that messages cannot pass in time is none: its layers are on one place, or in one node") {
  ShortJob made = short_job(2, 2, 1);
  made.network.layers.resize(3);
  for (LayerSpec& layer : made.network.layers)
    layer.profiled = {.f_ns = 100, .i_ns = 100, .w_ns = 100, .output_bytes = 1};
  made.network.layers[0].profiled.output_bytes = 1000;
  made.cluster.inter_node = {.bytes_per_s = 1e9};  // 1000 ns for the first cut
  made.cluster.finish();
  made.job = {.num_layers = 3,
              .num_devices = 2,
              .batch = 10,
              .price = job_pricing(made.network, made.cluster, std::nullopt, {})};
  // The first two layers together: 10 x 600. After the first cut: 100 + 10 x 1000.
  CHECK(cuts_bound(prices_of(made.job), 2, 10, StagePlacing::kSingle) == 6000 - 1);
  CHECK(cuts_bound(prices_of(made.job), 2, 10, StagePlacing::kCopied) == 3000 - 1);
  CHECK(cuts_bound(prices_of(made.job), 2, 10, StagePlacing::kLinear) >= 6000 - 1);
  CHECK(cuts_bound(prices_of(made.job), 1, 10, StagePlacing::kLinear) >= 9000 - 1);
}

TEST_SUITE_END();
