#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/error.hpp"
#include "sim/plan_search/placed_schedule.hpp"
#include "sim/plan_search/plan_front.hpp"
#include "sim/plan_search/plan_search.hpp"
#include "sim/plan_search/prices/job_pricing.hpp"
#include "sim/plan_search/prices/layer_prices.hpp"
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

TEST_CASE("stages with the longest passes come first, and of equal ones those before") {
  const std::vector<StageTimes> stages{{.f = 1, .b = 2, .i = 1, .w = 1},
                                       {.f = 2, .b = 9, .i = 1, .w = 2},
                                       {.f = 3, .b = 2, .i = 8, .w = 8},
                                       {.f = 1, .b = 2, .i = 1, .w = 1}};
  CHECK(most_loaded(stages, 9) == std::vector<std::size_t>{1, 2, 0, 3});
  CHECK(most_loaded(stages, 3) == std::vector<std::size_t>{1, 2, 0});
  CHECK(most_loaded({}, 3).empty());
}

TEST_CASE("a pass without its communication is shorter by what of it shows, and hides no more") {
  StageCosts costs;
  costs.times = {{.f = 100, .b = 200, .i = 120, .w = 80, .r = 100}, {.f = 100, .b = 200, .i = 120, .w = 80, .r = 3}};
  for (StageTimes& times : costs.times) {
    times.f_comm = {.all = 9, .shown = 7};
    times.b_comm = {.all = 20, .shown = 11};
    times.i_comm = {.all = 20, .shown = 13};
    times.w_comm = {.all = 20, .shown = 17};
  }
  hide_communication(costs);
  for (const StageTimes& times : costs.times) {
    CHECK(times.f == 93);
    CHECK(times.b == 189);
    CHECK(times.i == 107);
    CHECK(times.w == 63);
    CHECK(times.f_comm.all + times.b_comm.all + times.i_comm.all + times.w_comm.all == 0);
    CHECK(times.f_comm.shown + times.b_comm.shown + times.i_comm.shown + times.w_comm.shown == 0);
  }
  CHECK(costs.times[0].r == 93);
  CHECK(costs.times[1].r == 0);
}

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

TEST_CASE("stashes are copied to the host at the speed that is given, and devices have the memory that is given") {
  Network network = profiled_network("kept", 2, [](std::size_t k) {
    return ProfiledFigures{
        .f_ns = 100, .i_ns = 100, .w_ns = 100, .output_bytes = 8, .kept_for_weight_grad_bytes = k == 0 ? 3000 : 0};
  });
  Cluster cluster = unlike_prices();
  const auto priced = [&](const PricingLimits& limits) {
    return job_pricing(network, cluster, std::nullopt, limits)({.microbatch_size = 1}, Partition{{0, 1, 2}}, 4, {});
  };
  const PricedStages given = priced({.memory_bytes = 77, .host_bytes_per_s = 2e9});
  const auto per_ns = static_cast<Ticks>(given.costs.base.ticks_per_ns);
  CHECK(given.costs.times[0].evict == 1500 * per_ns);
  CHECK(given.costs.times[0].load == 1500 * per_ns);
  CHECK(given.costs.times[1].evict == 1);  // nothing to copy takes no less than a tick
  CHECK(given.usable_bytes == std::vector<std::int64_t>(4, 77));
  CHECK(given.price_per_hour == std::vector<double>{3, 3, 1, 1});
  CHECK(given.pipeline.host_link.bytes_per_s == 0);  // the cluster has none
  cluster.host_link = {.latency_ns = 9, .bytes_per_s = 5e9};
  CHECK(priced({.host_bytes_per_s = 2e9}).pipeline.host_link == HostLink{.latency_ns = 9, .bytes_per_s = 2e9});
  CHECK(priced({}).pipeline.host_link == cluster.host_link);
  CHECK(priced({}).usable_bytes == std::vector<std::int64_t>(4, 0));
  const auto refused = [&](const Parallelism& job) {
    try {
      job_pricing(network, cluster, std::nullopt, {})(job, Partition{{0, 2}}, 4, {});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refused({.microbatch_size = 0}).empty());
  CHECK(refused({.microbatch_size = 1}).empty());
  const std::string why =
      "network 'kept': has measured layers, expected one device per stage, no recompute, and microbatches of 1 samples";
  CHECK(refused({.microbatch_size = 2}) == why);
  CHECK(refused({.tensor = 2, .microbatch_size = 1}) == why);
  CHECK(refused({.recompute = ActivationRecompute::kFull, .microbatch_size = 1}) == why);
}

TEST_SUITE_END();
