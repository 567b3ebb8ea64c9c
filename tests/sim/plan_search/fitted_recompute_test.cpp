#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "models/import/load_network.hpp"
#include "models/network/network_io.hpp"
#include "models/stages/whole_layers.hpp"
#include "sim/plan_search/fitted_plan.hpp"
#include "sim/plan_search/placed_schedule.hpp"
#include "sim/plan_search/plan_cuts.hpp"
#include "sim/plan_search/plan_search.hpp"
#include "sim/plan_search/prices/job_pricing.hpp"
#include "tests/support/sanitized.hpp"

TEST_SUITE_BEGIN("plan search");

namespace {

using namespace plumb;

/// An embedding, six transformer layers and a head on three devices.
PlanJob small_job(std::int64_t memory_bytes) {
  const Network network = network_from_json(R"({"format": "plumbline-network", "version": 1, "name": "six",
      "sequence": 512, "width": 256, "vocabulary": 512, "layers": [{"kind": "embedding"}, {"repeat": 6, "layers": [
        {"kind": "residual", "body": [{"kind": "rms_norm"}, {"kind": "attention", "heads": 4}]},
        {"kind": "residual", "body": [{"kind": "rms_norm"}, {"kind": "mlp", "hidden": 1024}]}]},
      {"kind": "head"}]})",
                                            "six.json");
  Cluster cluster;
  cluster.name = "three";
  cluster.devices_per_node = 3;
  cluster.devices.assign(3, {.name = "device", .flops_per_s = 1e12, .memory_bytes_per_s = 1e11});
  cluster.intra_node = {.latency_ns = 1000, .bytes_per_s = 1e10};
  cluster.finish();
  KernelRates rates;
  rates.context_bytes = rates.library_bytes = rates.workspace_bytes = 0;
  rates.memory_reserve = 0;
  PlanJob job{.num_layers = network.layers.size(), .num_devices = 3, .batch = 6};
  job.price = job_pricing(network, cluster, rates, {.memory_bytes = memory_bytes});
  return job;
}

PipelinePlan plan_of(const Partition& cut, ActivationRecompute recompute) {
  return {.parallelism = {.recompute = recompute, .microbatch_size = 1},
          .places = 3,
          .microbatches = 6,
          .schedule = "1f1b",
          .partition = cut,
          .order = {0, 1, 2}};
}

/// The fastest over every cut of 1F1B, with one policy for all stages; 0: none fits.
std::int64_t fastest_with(const PlanJob& job, ActivationRecompute recompute) {
  std::int64_t fastest = 0;
  for (const Partition& cut : all_cuts(job.num_layers, 3)) {
    const ScoredPlan score = simulate_plan(plan_of(cut, recompute), job.price).score;
    if (score.fits() && (fastest == 0 || score.step_ns < fastest)) fastest = score.step_ns;
  }
  return fastest;
}

/// The same over every number of layers of every stage, too.
std::int64_t fastest_of_all_counts(const PlanJob& job) {
  std::int64_t fastest = 0;
  for (const Partition& cut : all_cuts(job.num_layers, 3)) {
    PipelinePlan plan = plan_of(cut, ActivationRecompute::kFitted);
    const std::vector<std::int32_t> most = job.price(plan.parallelism, cut, 3, {}).recomputable;
    std::vector<std::int32_t> counts(3);
    for (counts[0] = 0; counts[0] <= most[0]; ++counts[0]) {
      for (counts[1] = 0; counts[1] <= most[1]; ++counts[1]) {
        for (counts[2] = 0; counts[2] <= most[2]; ++counts[2]) {
          plan.choices.recomputed = counts;
          const ScoredPlan score = simulate_plan(plan, job.price).score;
          if (score.fits() && (fastest == 0 || score.step_ns < fastest)) fastest = score.step_ns;
        }
      }
    }
  }
  return fastest;
}

PlanAnswer search(const PlanJob& job, const std::vector<ActivationRecompute>& policies) {
  PlanRanges ranges{.parallelisms = {}, .places = {3}, .chunks = {2}};
  ranges.schedules = {"1f1b"};
  for (const ActivationRecompute policy : policies) {
    ranges.parallelisms.push_back({.recompute = policy, .microbatch_size = 1});
  }
  return search_plan(job, ranges, {.most_exact = 100'000});
}

}  // namespace

TEST_CASE("of every stage as few layers run again as fit: the best of all cuts and counts, and above the bound") {
  const auto none = ActivationRecompute::kNone;
  const auto full = ActivationRecompute::kFull;
  const auto fitted = ActivationRecompute::kFitted;
  const PlanJob roomy = small_job(0);
  const PlanAnswer easy = search(roomy, {fitted});
  REQUIRE(!easy.best.empty());
  CHECK(easy.best.front().plan.parallelism.recompute == none);
  CHECK(easy.best.front().step_ns == fastest_with(roomy, none));
  CHECK(easy.exhausted);
  int better = 0;
  for (const std::int64_t percent : {95, 90, 85, 80, 75, 70, 65, 60, 55, 50, 45, 40}) {
    if (plumb::testing::kSanitized && percent % 20 != 0) continue;
    CAPTURE(percent);
    const PlanJob job = small_job(easy.best.front().peak_bytes * percent / 100);
    const std::int64_t fastest = fastest_of_all_counts(job);
    const PlanAnswer answer = search(job, {fitted});
    CHECK(answer.best.empty() == (fastest == 0));
    if (answer.best.empty()) continue;
    const ScoredPlan& best = answer.best.front();
    CHECK(best.step_ns == fastest);
    CHECK(answer.bound_ns <= fastest);
    CHECK(simulate_plan(best.plan, job.price).score.step_ns == fastest);
    const PlanAnswer before = search(job, {none, full});
    const std::int64_t whole = before.best.empty() ? 0 : before.best.front().step_ns;
    CHECK((whole == 0 || whole >= fastest));
    if (whole == 0 || whole > fastest) ++better;
  }
  CHECK((plumb::testing::kSanitized || better >= 3));
}

TEST_CASE("in a looped schedule the stages of a place share the layers that run again, and what fits is no less") {
  PipelinePlan plan = plan_of(Partition{{0, 3, 5, 7, 9, 11, 14}}, ActivationRecompute::kFitted);
  plan.schedule = "interleaved";
  plan.chunks = 2;
  const ScoredPlan roomy = fitted_plan(plan, small_job(0).price, true).score;
  CHECK(roomy.plan.parallelism.recompute == ActivationRecompute::kNone);
  const ScoredPlan tight = fitted_plan(plan, small_job(roomy.peak_bytes * 8 / 10).price, true).score;
  CHECK(tight.fits());
  REQUIRE(tight.plan.choices.recomputed.size() == 6);
  CHECK(tight.step_ns > roomy.step_ns);
  const ScoredPlan none = fitted_plan(plan, small_job(1000).price, true).score;
  CHECK_FALSE(none.fits());
}

namespace {

/// Eight RTX 2080 Ti in two nodes.
Cluster eight_2080_ti() {
  Cluster cluster;
  cluster.name = "eight";
  cluster.devices_per_node = 4;
  cluster.devices.assign(8, {.name = "RTX-2080-Ti",
                             .flops_per_s = 13.45e12,
                             .memory_bytes_per_s = 616e9,
                             .compute_efficiency = 0.7,
                             .memory_efficiency = 0.8});
  cluster.intra_node = {.latency_ns = 20'000, .bytes_per_s = 11e9};
  cluster.inter_node = {.latency_ns = 30'000, .bytes_per_s = 4e9, .shared = true};
  cluster.finish();
  return cluster;
}

}  // namespace

// The released plan of vPipe for this network on eight of these devices: 11 11 12 12 13 13 14 11 halves of layers, of
// which 1, .85, .8, .6, .5, .2, 0 and 0 run again. Its memory is that of another framework, so that only the shape is
// held against it.
TEST_CASE("as in vPipe's plan for BERT the first stages run the most again, and later ones hold more layers") {
  const Network network = load_network("bert-48");
  const Cluster cluster = eight_2080_ti();
  PlanJob job{.num_layers = network.layers.size(), .num_devices = 8, .batch = 512};
  job.units = whole_layers(network);
  job.price = job_pricing(network, cluster, std::nullopt, {.memory_bytes = 6'000'000'000});
  const auto best = [&](ActivationRecompute policy) {
    PlanRanges ranges{.parallelisms = {}, .places = {8}, .chunks = {2}};
    ranges.schedules = {"1f1b"};
    ranges.parallelisms.push_back({.recompute = policy,
                                   .microbatch_size = 16,
                                   .precision = {4, 4, 4, 8},
                                   .flash_attention = false,
                                   .dropout = true});
    const PlanAnswer answer = search_plan(job, ranges, {.most_simulations = 300});
    REQUIRE(!answer.best.empty());
    CHECK(answer.bound_ns <= answer.best.front().step_ns);
    return std::pair(answer.best.front(), answer.simulated);
  };
  const std::pair<ScoredPlan, std::int64_t> found = best(ActivationRecompute::kFitted);
  const ScoredPlan& fitted = found.first;
  CHECK(found.second > 40);  // cuts near the first ones
  const std::vector<std::int32_t>& counts = fitted.plan.choices.recomputed;
  REQUIRE(counts.size() == 8);
  CHECK(std::ranges::is_sorted(counts, std::ranges::greater()));
  CHECK(counts.front() > 0);
  CHECK(counts[6] == 0);
  CHECK(counts[7] == 0);
  const LayerRange early = fitted.plan.partition.range(1);
  const LayerRange late = fitted.plan.partition.range(6);
  CHECK(late.end - late.begin > early.end - early.begin);
  CHECK(fitted.step_ns * 10 < best(ActivationRecompute::kFull).first.step_ns * 9);
  CHECK(fitted.step_ns * 10 < best(ActivationRecompute::kNone).first.step_ns * 9);
}

TEST_CASE("what fits in less memory fits in more, and is no slower there") {
  const Network network = load_network("bert-48");
  const Cluster cluster = eight_2080_ti();
  PlanJob job{.num_layers = network.layers.size(), .num_devices = 8, .batch = 512};
  job.units = whole_layers(network);
  PlanRanges ranges{.parallelisms = {{.microbatch_size = 16}}, .places = {8}, .chunks = {2}};
  ranges.schedules = {"1f1b"};
  std::int64_t step = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t megabytes = 5100; megabytes <= 6300; megabytes += 100) {
    job.price = job_pricing(network, cluster, std::nullopt, {.memory_bytes = megabytes * 1'000'000});
    const PlanAnswer answer = search_plan(job, ranges, {.most_simulations = 100});
    CAPTURE(megabytes);
    if (answer.best.empty()) {
      CHECK(step == std::numeric_limits<std::int64_t>::max());
      continue;
    }
    CHECK(answer.best.front().step_ns <= step);
    step = answer.best.front().step_ns;
  }
  CHECK(step != std::numeric_limits<std::int64_t>::max());
}

TEST_SUITE_END();
