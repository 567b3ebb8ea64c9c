#include "sim/plan_search/copy_shares.hpp"
#include "sim/plan_search/prices/network_prices.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/error.hpp"
#include "models/import/load_network.hpp"
#include "sim/plan_search/plan_search.hpp"
#include "sim/plan_search/planner_seeds.hpp"
#include "sim/plan_search/prices/job_pricing.hpp"
#include "tests/support/every_plan.hpp"
#include "tests/support/profiled_network.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/small_plan_jobs.hpp"
#include "tests/support/source_directory.hpp"

TEST_SUITE_BEGIN("plan search");

namespace plumb::testing {
namespace {

using Random = std::mt19937;

/// Devices of two speeds, at least one of each; `memory_bytes` of every second one, which have less.
Cluster unlike_cluster(Random& random, std::int32_t nodes, std::int32_t per_node, std::int64_t memory_bytes) {
  Cluster cluster;
  cluster.name = "unlike";
  cluster.devices_per_node = per_node;
  for (std::int32_t d = 0; d < nodes * per_node; ++d) {
    const bool slow = d > 0 && (d == 1 || random() % 2 == 0);
    cluster.devices.push_back({.name = "device",
                               .flops_per_s = 1e12,
                               .memory_bytes_per_s = 1e12,
                               .memory_bytes = slow ? memory_bytes : 4 * memory_bytes,
                               .speed = slow ? 0.4375 : 1.0});
  }
  cluster.intra_node = {.latency_ns = drawn_between(random, 0, 100), .bytes_per_s = 1e12};
  cluster.inter_node = {.latency_ns = drawn_between(random, 100, 1000), .bytes_per_s = 5e11};
  cluster.finish();
  return cluster;
}

/// Simulates `plan` and checks the bounds of copies on it. Its step, 0 where it does not fit or cannot be.
std::int64_t checked_copies(const PlanJob& job, const PipelinePlan& plan, const LayerPrices& prices,
                            const ScheduleVariant& variant) {
  const std::optional<SimulatedPlan> simulated = simulated_if_possible(plan, job);
  if (!simulated) return 0;
  const ScoredPlan& score = simulated->score;
  const std::int32_t length = plan.length();
  CHECK(score.excess_bytes >= std::ranges::max(excess_by_place(simulated->stages, simulated->schedule)));
  const CopiesPlacement placement = placement_of_copies(variant, plan.order, plan.copies());
  if (!placement.empty()) {
    CHECK(score.step_ns >= copies_bound(simulated->stages, placement, plan.shares));
    const auto least = least_bounded_shares(simulated->stages, placement, plan.microbatches);
    CHECK(std::accumulate(least.begin(), least.end(), std::int64_t{0}) == plan.microbatches);
    CHECK(copies_bound(simulated->stages, placement, least) <= copies_bound(simulated->stages, placement, plan.shares));
  }
  if (!score.fits()) return 0;
  const ScheduleKinds kinds = kinds_of({variant});
  CHECK(score.step_ns >=
        copies_setup_bound(prices, {length, plan.copies(), plan.microbatches, variant.stages(length)}, kinds));
  const std::int64_t turns = (plan.microbatches + plan.copies() - 1) / plan.copies();
  CHECK(score.step_ns >= packing_bound(prices, length, turns, kinds));
  return score.step_ns;
}

/// Tries every plan of copies; checks the bounds on the way. The fastest that fits, 0 when none does.
std::int64_t fastest_copies(const PlanJob& job, const PlanRanges& ranges) {
  std::int64_t fastest = 0;
  const auto room = static_cast<std::int32_t>(job.num_devices);
  const Parallelism& parallelism = ranges.parallelisms.front();
  const LayerPrices prices = layer_prices(job, parallelism, room, false);
  PipelinePlan plan{.parallelism = parallelism, .microbatches = job.batch / parallelism.microbatch_size};
  for (const ScheduleVariant& variant : schedule_variants(ranges)) {
    plan.schedule = variant.spec->name;
    plan.chunks = variant.chunks;
    for (const std::int32_t length : ranges.places) {
      for (const std::int32_t copies : ranges.copies) {
        plan.places = length * copies;
        if (plan.places > room || !variant.is_tried(length, job.num_layers)) continue;
        for (Partition& partition : all_cuts(job.num_layers, static_cast<std::size_t>(variant.stages(length)))) {
          plan.partition = std::move(partition);
          for (std::vector<std::int32_t>& order : every_order(room, plan.places)) {
            plan.order = std::move(order);
            for (std::vector<std::int64_t>& shares : all_shares(plan.microbatches, copies)) {
              plan.shares = std::move(shares);
              const std::int64_t step = checked_copies(job, plan, prices, variant);
              if (step > 0 && (fastest == 0 || step < fastest)) fastest = step;
            }
          }
        }
      }
    }
  }
  return fastest;
}

/// Of one of the two that may be none (0).
std::int64_t least_of(std::int64_t one, std::int64_t other) {
  return one == 0 ? other : other == 0 ? one : std::min(one, other);
}

PlanRanges ranges_of(std::vector<std::int32_t> places, std::vector<std::int32_t> copies) {
  PlanRanges ranges{.parallelisms = {Parallelism{.microbatch_size = 1}}, .places = std::move(places), .chunks = {2}};
  ranges.schedules = {"1f1b", "gpipe", "zb-h1", "chimera", "interleaved", "zb-v"};
  ranges.copies = std::move(copies);
  return ranges;
}

}  // namespace

TEST_CASE("shares of copies are counted as they are listed") {
  for (std::int64_t m = 1; m <= 7; ++m) {
    for (std::int32_t copies = 1; copies <= 4; ++copies) {
      const auto all = all_shares(m, copies);
      CHECK(count_shares(m, copies, 1000) == std::ssize(all));
      CHECK(std::ranges::is_sorted(all));
      CHECK(std::ranges::adjacent_find(all) == all.end());
    }
  }
  CHECK(count_shares(4096, 16, 3000) == 3001);
}

TEST_CASE("on small unlike clusters the answer with copies is the best of all plans, and proved") {
  int shared = 0;
  for (std::uint32_t seed = 1; seed <= (kSanitized ? 2 : 10); ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Network network = drawn_network(random, static_cast<std::size_t>(drawn_between(random, 2, 4)));
    const Cluster cluster = unlike_cluster(random, 1 + static_cast<std::int32_t>(seed % 2), 2, 3'000'000);
    const PlanJob job = profiled_job(network, cluster, drawn_between(random, 3, 6));
    const PlanRanges ranges = ranges_of({1, 2}, {2, 3, 4});
    const std::int64_t fastest = least_of(fastest_of_all(job, ranges), fastest_copies(job, ranges));
    const PlanAnswer answer = search_plan(job, ranges, {.most_exact = 100'000});
    REQUIRE(answer.best.empty() == (fastest == 0));
    CHECK(answer.exhausted);
    if (answer.best.empty()) continue;
    const ScoredPlan& best = answer.best.front();
    CHECK(best.step_ns == fastest);
    CHECK(answer.bound_ns == fastest);
    CHECK(simulate_plan(best.plan, job.price).score.step_ns == fastest);
    shared += best.plan.copies() > 1 ? 1 : 0;
    const PlanAnswer few = search_plan(job, ranges, {.most_exact = 2});
    REQUIRE(!few.best.empty());
    CHECK(few.bound_ns <= fastest);
    CHECK(few.best.front().step_ns >= fastest);
  }
  if (kSanitized) return;
  CHECK(shared >= 3);
  CHECK(shared <= 9);
}

TEST_CASE("chosen shares of copies with one device each are the best of all, and keep to the memory") {
  for (const std::int64_t memory : {40'000'000, 1'500'000}) {
    int unlike = 0;
    for (std::uint32_t seed = 1; seed <= 12; ++seed) {
      CAPTURE(seed);
      Random random(seed);
      const Network network = drawn_network(random, 3);
      const Cluster cluster = unlike_cluster(random, 1, 3, memory);
      const PlanJob job = profiled_job(network, cluster, 9);
      PipelinePlan plan{.parallelism = {.microbatch_size = 1}, .places = 3, .microbatches = 9, .schedule = "gpipe"};
      plan.partition = Partition{{0, 3}};
      plan.order = {0, 1, 2};
      plan.shares = {0, 0, 0};
      const PricedStages stages = job.price(plan.parallelism, plan.partition, 3, {});
      plan.shares = chosen_shares(plan, stages, true);
      const ScoredPlan chosen = simulate_plan(plan, job.price).score;
      std::int64_t best = 0;
      for (const auto& shares : all_shares(9, 3)) {
        PipelinePlan other = plan;
        other.shares = shares;
        const ScoredPlan score = simulate_plan(other, job.price).score;
        if (score.fits()) best = least_of(best, score.step_ns);
      }
      CHECK(chosen.fits() == (best > 0));
      if (best > 0) CHECK(chosen.step_ns == best);
      unlike += plan.shares != std::vector<std::int64_t>{3, 3, 3} ? 1 : 0;
    }
    CHECK(unlike >= 6);
  }
}

TEST_CASE("of copies of a pipeline no shares make the slowest copy alone faster") {
  Random random(7);
  for (int turn = 0; turn < 6; ++turn) {
    CAPTURE(turn);
    const Network network = drawn_network(random, 4);
    const Cluster cluster = unlike_cluster(random, 2, 2, 40'000'000);
    const PlanJob job = profiled_job(network, cluster, 8);
    PipelinePlan plan{.parallelism = {.microbatch_size = 1}, .places = 4, .microbatches = 8, .schedule = "1f1b"};
    plan.partition = Partition{{0, 2, 4}};
    plan.order = {0, 2, 1, 3};
    plan.shares = {0, 0};
    const PricedStages stages = job.price(plan.parallelism, plan.partition, 4, {});
    const auto alone = [&](std::size_t k, std::int64_t microbatches) {
      PipelinePlan copy = plan;
      copy.places = 2;
      copy.microbatches = microbatches;
      copy.order = {plan.order[2 * k], plan.order[2 * k + 1]};
      copy.shares.clear();
      return simulate_plan(copy, job.price).score.step_ns;
    };
    const auto slowest = [&](const std::vector<std::int64_t>& shares) {
      return std::max(alone(0, shares[0]), alone(1, shares[1]));
    };
    const std::int64_t chosen = slowest(chosen_shares(plan, stages, true));
    for (const auto& shares : all_shares(8, 2)) CHECK(chosen <= slowest(shares));
  }
}

TEST_CASE("shares by speed are 1.2 to 1.4 times as fast as equal ones on eight V100 beside eight P100, as in Whale") {
  // 15.7 and 10.6 TFLOP/s: NVIDIA's data sheets of V100 SXM2 and P100 SXM2.
  const Network network = profiled_network("one", 1, [](std::size_t) {
    return ProfiledFigures{.f_ns = 1'000'000, .i_ns = 1'000'000, .w_ns = 1'000'000, .parameter_bytes = 1000};
  });
  Cluster cluster;
  cluster.name = "v100-p100";
  cluster.devices_per_node = 8;
  cluster.devices.assign(16, {.name = "V100", .flops_per_s = 15.7e12, .memory_bytes_per_s = 900e9});
  for (std::size_t d = 8; d < 16; ++d) cluster.devices[d].speed = 10.6 / 15.7;
  cluster.intra_node = {.bytes_per_s = 1e11};
  cluster.inter_node = {.bytes_per_s = 1e10};
  cluster.finish();
  const PlanJob job = profiled_job(network, cluster, 512);
  PlanRanges ranges = ranges_of({1}, {16});
  ranges.schedules = {"1f1b"};
  const PlanAnswer answer = search_plan(job, ranges, {});
  REQUIRE(!answer.best.empty());
  PipelinePlan plan = answer.best.front().plan;
  REQUIRE(plan.copies() == 16);
  CHECK(std::ranges::count(plan.shares, 38) >= 7);
  CHECK(std::ranges::count(plan.shares, 26) >= 7);
  plan.shares.assign(16, 32);
  const auto equal = static_cast<double>(simulate_plan(plan, job.price).score.step_ns);
  const double gain = equal / static_cast<double>(answer.best.front().step_ns);
  CHECK(gain > 1.2);
  CHECK(gain < 1.4);
}

TEST_CASE("A100 and V100 behind a slow link: copies with shares are found, and the bound holds") {
  const Network network = load_network("gpt2-small");
  const Cluster cluster = load_cluster(in_source("tools/examples/a100_v100.json"));
  PlanJob job{.num_layers = network.layers.size(), .num_devices = 8, .batch = 64};
  job.price = job_pricing(network, cluster, KernelRates{}, {});
  PlanRanges ranges{.parallelisms = {Parallelism{.microbatch_size = 1}}, .places = {1, 2, 4}, .chunks = {2}};
  ranges.schedules = {"1f1b"};
  const PlanAnswer without = search_plan(job, ranges, {.most_simulations = 200});
  ranges.copies = {2, 4, 8};
  const PlanAnswer answer = search_plan(job, ranges, {.most_simulations = 200});
  REQUIRE(!answer.best.empty());
  CHECK(answer.bound_ns <= answer.best.front().step_ns);
  CHECK(answer.best.front().step_ns < without.best.front().step_ns);
  CHECK(answer.best.front().plan.copies() > 1);
}

TEST_CASE("where only shares are too many to be tried, the bound is that of the best ones on their places") {
  const Network network = load_network("gpt2-small");
  const Cluster cluster = load_cluster(in_source("tools/examples/a100_v100.json"));
  PlanJob job{.num_layers = network.layers.size(), .num_devices = 8, .batch = 2048};
  job.price = job_pricing(network, cluster, std::nullopt, {});
  PlanRanges ranges{.parallelisms = {Parallelism{.microbatch_size = 8}}, .places = {1}};
  ranges.schedules = {"1f1b"};
  ranges.copies = {8};
  const PlanAnswer answer = search_plan(job, ranges, {});
  REQUIRE(!answer.best.empty());
  CHECK(answer.best.front().plan.shares == std::vector<std::int64_t>{51, 51, 51, 51, 13, 13, 13, 13});
  CHECK(!answer.exhausted);
  CHECK(answer.gap() < 0.01);
}

TEST_CASE("the plan of Whale is a seed with its shares, and the answer is no worse") {
  Random random(5);
  const Network network = drawn_network(random, 4);
  const Cluster cluster = unlike_cluster(random, 1, 4, 40'000'000);
  const PlanJob job = profiled_job(network, cluster, 12);
  const PlanRanges ranges = ranges_of({1, 2}, {2, 3, 4});
  std::vector<PipelinePlan> seeds;
  for (const PlannerSeed& seed : planner_seeds(job, ranges)) {
    if (seed.method == "whale") seeds.push_back(seed.plan);
  }
  REQUIRE(seeds.size() == 1);
  CHECK(seeds.front().copies() == 4);
  CHECK(std::accumulate(seeds.front().shares.begin(), seeds.front().shares.end(), std::int64_t{0}) == 12);
  const std::int64_t seeded = simulate_plan(seeds.front(), job.price).score.step_ns;
  const PlanAnswer answer = search_plan(job, ranges, {.most_simulations = 1, .most_exact = 1}, seeds);
  REQUIRE(!answer.best.empty());
  CHECK(answer.best.front().step_ns <= seeded);
}

TEST_CASE("where devices are alike copies change nothing") {
  Random random(11);
  const Network network = drawn_network(random, 4);
  Cluster cluster = unlike_cluster(random, 1, 4, 40'000'000);
  for (DeviceSpec& device : cluster.devices) device = cluster.devices.front();
  const PlanJob job = profiled_job(network, cluster, 6);
  PlanRanges ranges = ranges_of({1, 2}, {});
  const PlanAnswer without = search_plan(job, ranges, {});
  ranges.copies = {2, 3, 4};
  const PlanAnswer with = search_plan(job, ranges, {});
  CHECK(with.setups == without.setups);
  CHECK(with.simulated == without.simulated);
  CHECK(with.best.front().plan == without.best.front().plan);
}

}  // namespace plumb::testing

TEST_SUITE_END();
