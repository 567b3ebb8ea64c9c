#include "sim/plan_search/setup_cuts.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "models/cluster/cluster_io.hpp"
#include "models/import/load_network.hpp"
#include "models/stages/whole_layers.hpp"
#include "sim/plan_search/plan_cuts.hpp"
#include "sim/plan_search/plan_search.hpp"
#include "sim/plan_search/prices/job_pricing.hpp"

TEST_SUITE_BEGIN("plan search");

using namespace plumb;

namespace {

/// Eight layers of load 30 on four places, each of which could run its layers again for 10 if `again`.
PlanSetup eight_layers(bool again) {
  auto prices = std::make_shared<LayerPrices>();
  prices->load.assign(8, 30);
  prices->speed.assign(4, 1.0);
  if (again) prices->again.assign(8, 10);
  return {.places = 4, .microbatches = 16, .prices = std::move(prices)};
}

std::vector<Partition> promising(const PlanSetup& setup, const std::vector<std::size_t>& bounds,
                                 const std::vector<Ticks>& loads) {
  StageCosts costs;
  for (const Ticks load : loads) costs.times.push_back({.f = load / 3, .b = load - load / 3, .i = load, .w = load});
  const ScheduleVariant variant = schedule_variants({.schedules = {"1f1b"}}).front();
  return promising_cuts(setup, variant, {.order = {0, 1, 2, 3}, .partition = Partition{bounds}}, costs);
}

}  // namespace

TEST_CASE("near a balanced cut no cut is promising; near another one those that unload its slowest place") {
  const PlanSetup setup = eight_layers(false);
  CHECK(promising(setup, {0, 2, 4, 6, 8}, {60, 60, 60, 60}).empty());
  const std::vector<Partition> cuts = promising(setup, {0, 3, 4, 6, 8}, {90, 30, 60, 60});
  CHECK(cuts == std::vector<Partition>{Partition{{0, 2, 4, 6, 8}}});
}

TEST_CASE("where a step is mostly filling every near cut may be faster") {
  PlanSetup setup = eight_layers(false);
  setup.microbatches = 7;
  CHECK(promising(setup, {0, 2, 4, 6, 8}, {60, 60, 60, 60}) == near_cuts(Partition{{0, 2, 4, 6, 8}}, {}));
}

TEST_CASE("a stage that runs layers again may lose more than a layer's load when it loses a layer") {
  // The first stage runs two of its layers again: without one of them there may be room for both others.
  const std::vector<Partition> cuts = promising(eight_layers(true), {0, 2, 4, 6, 8}, {80, 60, 60, 60});
  CHECK(cuts.empty());  // the other place would have 90
  const std::vector<Partition> slower = promising(eight_layers(true), {0, 3, 5, 7, 8}, {110, 70, 60, 30});
  CHECK(std::ranges::find(slower, Partition{{0, 2, 4, 6, 8}}) != slower.end());
}

TEST_CASE("the plan of Llama-2-70B on 1024 A100 is found by few simulations, and hardly any is of a near cut") {
  const Network network = load_network("llama2-70b");
  const Cluster cluster = load_cluster("a100-128x8");
  PlanJob job{.num_layers = network.layers.size(), .num_devices = 1024, .batch = 1024};
  job.units = whole_layers(network);
  job.price = job_pricing(network, cluster, std::nullopt, {});
  PlanRanges ranges{.parallelisms = {}, .places = {8}, .chunks = {2, 3, 4}};
  Parallelism& spread = ranges.parallelisms.emplace_back();
  spread.tensor = 4;
  spread.sequence_parallel = true;
  spread.data = 32;
  spread.zero = ZeroStage::kOptimizer;
  spread.microbatch_size = 1;
  const PlanAnswer answer = search_plan(job, ranges, {});
  REQUIRE(!answer.best.empty());
  CHECK(answer.best.front().plan.schedule == "stp");
  CHECK(answer.simulated <= 100);
  CHECK(answer.bound_ns <= answer.best.front().step_ns);
  CHECK(answer.gap() < 0.08);
}

TEST_SUITE_END();
