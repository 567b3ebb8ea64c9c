#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "models/cluster/cluster_io.hpp"
#include "models/import/load_network.hpp"
#include "models/jobs/unlike_tensor.hpp"
#include "models/network/network_io.hpp"
#include "sim/plan_search/plan_search.hpp"
#include "sim/plan_search/prices/job_pricing.hpp"
#include "sim/plan_search/prices/optimistic_machine.hpp"
#include "tests/support/every_plan.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/small_plan_jobs.hpp"
#include "tests/support/source_directory.hpp"

TEST_SUITE_BEGIN("plan search");

namespace plumb::testing {
namespace {

using Random = std::mt19937;

/// An embedding, two layers of two halves and a head.
Network small_network() {
  return network_from_json(R"({"format": "plumbline-network", "version": 1, "name": "four",
      "sequence": 256, "width": 256, "vocabulary": 512, "layers": [{"kind": "embedding"}, {"repeat": 2, "layers": [
        {"kind": "residual", "body": [{"kind": "rms_norm"}, {"kind": "attention", "heads": 4}]},
        {"kind": "residual", "body": [{"kind": "rms_norm"}, {"kind": "mlp", "hidden": 1024}]}]},
      {"kind": "head"}]})",
                           "four.json");
}

/// A node of devices of one kind and a node of another one.
Cluster drawn_cluster(Random& random, std::int64_t memory_bytes) {
  Cluster cluster;
  cluster.name = "two kinds";
  cluster.devices_per_node = 2;
  for (std::int32_t d = 0; d < 4; ++d) {
    cluster.devices.push_back({.name = "device", .flops_per_s = 1e12, .memory_bytes_per_s = 1e11});
    cluster.devices.back().memory_bytes = memory_bytes;
  }
  const double rate = static_cast<double>(drawn_between(random, 2, 12)) * 1.1e11;  // never that of the others
  for (const std::size_t d : {2, 3}) cluster.devices[d].flops_per_s = rate;
  if (memory_bytes > 0) {
    for (const std::size_t d : {2, 3}) cluster.devices[d].memory_bytes = memory_bytes / 2;
  }
  cluster.intra_node = {.latency_ns = 1000, .bytes_per_s = static_cast<double>(drawn_between(random, 1, 100)) * 1e9};
  cluster.inter_node = {.latency_ns = 5000,
                        .bytes_per_s = static_cast<double>(drawn_between(random, 1, 20)) * 1e8,
                        .shared = random() % 2 == 0};
  cluster.finish();
  return cluster;
}

KernelRates rates_without_overhead() {
  KernelRates rates;
  rates.context_bytes = rates.library_bytes = rates.workspace_bytes = 0;
  rates.memory_reserve = 0;
  return rates;
}

PlanJob unlike_job_on(const Network& network, const Cluster& cluster, std::int64_t batch) {
  return {.num_layers = network.layers.size(),
          .num_devices = static_cast<std::int64_t>(cluster.devices.size()),
          .batch = batch,
          .price = job_pricing(network, cluster, rates_without_overhead(), {})};
}

/// One degree for all devices, and unlike ones for the kinds.
PlanRanges both_degrees(const Cluster& cluster) {
  PlanRanges ranges{.places = {1, 2, 3}, .chunks = {2}};
  ranges.schedules = {"1f1b", "gpipe", "zb-h1", "interleaved", "zb-v", "chimera"};
  const Parallelism job{.sequence_parallel = true, .microbatch_size = 1};
  for (const std::int64_t tensor : {1, 2}) ranges.parallelisms.push_back(with_tensor(job, tensor));
  for (const std::vector<std::int32_t>& degrees : std::vector<std::vector<std::int32_t>>{{1, 2}, {2, 1}}) {
    ranges.parallelisms.push_back(divided_by_kind(cluster, with_tensor(job, 2), degrees));
    REQUIRE(ranges.parallelisms.back().has_unlike_tensor());
  }
  return ranges;
}

}  // namespace

TEST_CASE("on small clusters the answer with unlike tensor degrees is the best of all plans, and proved") {
  int unlike = 0;
  for (std::uint32_t seed = 1; seed <= (kSanitized ? 2 : 12); ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Network network = small_network();
    const Cluster cluster = drawn_cluster(random, seed % 3 == 0 ? 0 : drawn_between(random, 12, 40) * 1'000'000);
    const PlanJob job = unlike_job_on(network, cluster, drawn_between(random, 2, 5));
    const PlanRanges ranges = both_degrees(cluster);
    const std::int64_t fastest = fastest_of_all(job, ranges);
    const PlanAnswer answer = search_plan(job, ranges, {.most_exact = 100'000});
    REQUIRE(answer.best.empty() == (fastest == 0));
    CHECK(answer.exhausted);
    if (answer.best.empty()) continue;
    const ScoredPlan& best = answer.best.front();
    CHECK(best.step_ns == fastest);
    CHECK(answer.bound_ns == fastest);
    CHECK(simulate_plan(best.plan, job.price).score.step_ns == fastest);
    unlike += best.plan.parallelism.has_unlike_tensor() ? 1 : 0;
    const PlanAnswer few = search_plan(job, ranges, {.most_exact = 2});
    REQUIRE(!few.best.empty());
    CHECK(few.bound_ns <= fastest);
    CHECK(few.best.front().step_ns >= fastest);
  }
  CHECK((kSanitized || unlike > 0));
}

TEST_CASE("no stage is faster or smaller on its places than on the machine that bounds are computed for") {
  Random random(7);
  const Network network = load_network("gpt2-medium");
  const Cluster cluster = load_cluster(in_source("tools/examples/a100_v100.json"));
  const PlanJob job = unlike_job_on(network, cluster, 8);
  for (const std::vector<std::int32_t>& degrees :
       std::vector<std::vector<std::int32_t>>{{1, 2}, {1, 4}, {4, 1}, {2, 1}}) {
    CAPTURE(degrees.front());
    CAPTURE(degrees.back());
    const Parallelism parallelism =
        divided_by_kind(cluster, Parallelism{.sequence_parallel = true, .microbatch_size = 1}, degrees);
    const OptimisticMachine machine = optimistic_machine(job, parallelism);
    const auto places = static_cast<std::int32_t>(parallelism.tensor_by_place.size());
    const std::vector<LayerLeast>& least = *machine.alone.layers.least;
    for (int trial = 0; trial < 40; ++trial) {
      const auto begin =
          static_cast<std::size_t>(drawn_between(random, 1, static_cast<std::int64_t>(job.num_layers) - 2));
      const auto end = static_cast<std::size_t>(
          drawn_between(random, static_cast<std::int64_t>(begin) + 1, static_cast<std::int64_t>(job.num_layers) - 1));
      const auto place = static_cast<std::int32_t>(drawn_between(random, 0, places - 1));
      const PricedStages priced =
          job.price(parallelism, Partition{{0, begin, end, job.num_layers}}, places, {.places = {0, place, 0}});
      LayerLeast sum;
      for (std::size_t layer = begin; layer < end; ++layer) sum += least[layer];
      const auto at = static_cast<std::size_t>(place);
      const StageTimes& times = priced.costs.times[1];
      const auto scaled = [&](Ticks ticks) { return static_cast<double>(ticks) * machine.time_scale[at] + 1; };
      CHECK(scaled(times.f) >= static_cast<double>(sum.alone.f));
      CHECK(scaled(times.b) >= static_cast<double>(sum.alone.b));
      CHECK(scaled(times.i) >= static_cast<double>(sum.alone.i));
      CHECK(scaled(times.w) >= static_cast<double>(sum.alone.w));
      CHECK(scaled(times.u - priced.stage_update) >= static_cast<double>(sum.u));
      const StageMemory& memory = priced.costs.memory[1];
      CHECK(static_cast<double>(held_bytes(memory)) * machine.memory_scale[at] >= static_cast<double>(sum.held_bytes));
      const std::vector<StageMemory>& layers = machine.alone.layers.costs.memory;
      CHECK(layers[end - 1].output_bytes <= memory.output_bytes);
      CHECK(layers[begin].input_grad_bytes <= memory.input_grad_bytes);
      CHECK(machine.alone.whole.pipeline.devices[at].speed ==
            doctest::Approx(priced.pipeline.devices[at].speed * machine.time_scale[at]));
    }
  }
}

TEST_CASE("places of one degree and kind are what they are without unlike degrees") {
  const Network network = load_network("gpt2-small");
  const Cluster cluster = load_cluster(in_source("tools/examples/a100_v100.json"));
  const PlanJob job = unlike_job_on(network, cluster, 8);
  const Parallelism parallelism = divided_by_kind(cluster, Parallelism{.microbatch_size = 1}, std::vector{2, 4});
  REQUIRE(parallelism.tensor_by_place == std::vector<std::int32_t>{2, 2, 4});
  // Two of the three places: only those with two ranks.
  PipelinePlan plan{.parallelism = parallelism,
                    .places = 2,
                    .microbatches = 8,
                    .schedule = "1f1b",
                    .partition = equal_partition(network, 2),
                    .order = {0, 1}};
  plan.choices.places = {0, 1};
  const SimulatedPlan unlike = simulate_plan(plan, job.price);
  plan.parallelism = with_tensor(parallelism, 2);
  plan.choices = {};
  const SimulatedPlan alike = simulate_plan(plan, job.price);
  CHECK(unlike.score.step_ns == alike.score.step_ns);
  CHECK(unlike.score.peak_bytes == alike.score.peak_bytes);
  CHECK(unlike.score.plan.num_devices() == 4);
}

TEST_CASE("a plan is refused whose stages are priced for places that they do not stand on") {
  const Network network = load_network("gpt2-small");
  const Cluster cluster = load_cluster(in_source("tools/examples/a100_v100.json"));
  const PlanJob job = unlike_job_on(network, cluster, 8);
  PipelinePlan plan{.parallelism = divided_by_kind(cluster, Parallelism{.microbatch_size = 1}, std::vector{2, 4}),
                    .places = 3,
                    .microbatches = 8,
                    .schedule = "1f1b",
                    .partition = equal_partition(network, 3),
                    .order = {2, 0, 1}};
  plan.choices.places = {2, 0, 1};
  CHECK(simulate_plan(plan, job.price).score.step_ns > 0);
  plan.choices.places = {0, 1, 2};
  CHECK_THROWS_AS(simulate_plan(plan, job.price), Error);
}

}  // namespace plumb::testing

TEST_SUITE_END();
