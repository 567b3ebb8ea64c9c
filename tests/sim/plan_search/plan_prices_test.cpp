#include <algorithm>
#include <numeric>

#include <doctest/doctest.h>

#include "models/cluster/cluster_io.hpp"
#include "sim/plan_search/placed_schedule.hpp"
#include "sim/plan_search/plan_front.hpp"
#include "sim/plan_search/plan_search.hpp"
#include "sim/plan_search/prices/job_pricing.hpp"
#include "tests/support/profiled_network.hpp"

TEST_SUITE_BEGIN("plan search");

namespace {

using namespace plumb;
using plumb::testing::profiled_network;

/// Four equal layers of 1 us forward and 2 us backward.
Network equal_layers() {
  return profiled_network("equal", 4, [](std::size_t) {
    return ProfiledFigures{.f_ns = 1000, .i_ns = 1000, .w_ns = 1000, .output_bytes = 8};
  });
}

/// Two fast devices for 3 an hour and two of half the speed for 1.
Cluster unlike_prices() {
  return cluster_from_json(R"({"format": "plumbline-cluster", "version": 1, "name": "unlike", "nodes": 1,
      "devices_per_node": 4,
      "device": {"flops_per_s": 1e12, "memory_bytes_per_s": 1e12, "price_per_hour": 3},
      "overrides": [{"device": 2, "speed": 0.5, "price_per_hour": 1}, {"device": 3, "speed": 0.5, "price_per_hour": 1}],
      "intra_node": {"latency_ns": 1, "bytes_per_s": 1e12}})",
                           "unlike.json");
}

PlanJob priced_job(const Cluster& cluster) {
  return {
      .num_layers = 4, .num_devices = 4, .batch = 4, .price = job_pricing(equal_layers(), cluster, std::nullopt, {})};
}

PlanAnswer priced_answer(const Cluster& cluster) {
  const PlanJob job = priced_job(cluster);
  PlanRanges ranges{.parallelisms = {Parallelism{.microbatch_size = 1}}, .places = {1, 2, 3, 4}, .chunks = {2}};
  ranges.schedules = {"1f1b"};
  return search_plan(job, ranges, {.most_exact = 100'000});
}

}  // namespace

TEST_CASE("a plan costs what its own devices cost for as long as it takes") {
  const PlanAnswer answer = priced_answer(unlike_prices());
  REQUIRE(!answer.best.empty());
  for (const ScoredPlan& score : answer.front) {
    double expected = 0;
    for (const std::int32_t place : score.plan.order) expected += place < 2 ? 3 : 1;
    CHECK(score.price_per_hour == expected);
    CHECK(score.price() / (static_cast<double>(score.step_ns) * 1e-9 / 3600 * expected) == doctest::Approx(1));
  }
  // All on one slow device: 4 x 4 x 3 us at half the speed, for 1 an hour.
  const PlanJob job = priced_job(unlike_prices());
  const PipelinePlan alone{.parallelism = {.microbatch_size = 1},
                           .microbatches = 4,
                           .schedule = "1f1b",
                           .partition = Partition{{0, 4}},
                           .order = {2}};
  const ScoredPlan score = simulate_plan(alone, job.price).score;
  CHECK(score.step_ns == 96'000);
  CHECK(score.price_per_hour == 1);
  CHECK(score.bubble_fraction == doctest::Approx(0));  // the places before it are not the plan's
}

TEST_CASE("a slower plan of as many devices stays in the front while it costs less") {
  const auto plan = [](std::int64_t step_ns, double price_per_hour) {
    ScoredPlan score{.step_ns = step_ns, .peak_bytes = 8, .price_per_hour = price_per_hour};
    score.plan.places = 2;
    return score;
  };
  PlanFront front;
  for (const ScoredPlan& score : {plan(100, 6), plan(150, 2), plan(200, 4), plan(400, 1)}) front.add(score);
  const std::vector<ScoredPlan> left = front.take();  // 600, 300, 800 and 400 in all
  REQUIRE(left.size() == 2);
  CHECK(left[0].step_ns == 100);
  CHECK(left[1].step_ns == 150);
}

TEST_CASE("the front holds what nothing equals in step, peak, devices and price; without prices there is none") {
  const PlanAnswer answer = priced_answer(unlike_prices());
  for (const ScoredPlan& a : answer.front) {
    for (const ScoredPlan& b : answer.front) {
      const bool covers = a.step_ns <= b.step_ns && a.peak_bytes <= b.peak_bytes &&
                          a.plan.num_devices() <= b.plan.num_devices() && a.price() <= b.price();
      CHECK((&a == &b || !covers));
    }
  }
  Cluster free_of_prices = unlike_prices();
  for (DeviceSpec& device : free_of_prices.devices) device.price_per_hour = 0;
  const PlanAnswer without = priced_answer(free_of_prices);
  CHECK(without.best.front().step_ns == answer.best.front().step_ns);
  CHECK(std::ranges::all_of(without.front, [](const ScoredPlan& score) { return score.price_per_hour == 0; }));
}

TEST_SUITE_END();
