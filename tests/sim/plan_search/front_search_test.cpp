
#include <algorithm>

#include <doctest/doctest.h>

#include "sim/plan_search/plan_search.hpp"
#include "sim/plan_search/prices/job_pricing.hpp"
#include "tests/support/every_plan.hpp"
#include "tests/support/profiled_network.hpp"

TEST_SUITE_BEGIN("plan search");

namespace {

using namespace plumb;
using plumb::testing::profiled_network;

PlanJob job_on_three() {
  const Network network = profiled_network("front", 4, [](std::size_t k) {
    return ProfiledFigures{
        .f_ns = 1000 + 300 * static_cast<std::int64_t>(k), .i_ns = 1000, .w_ns = 700, .output_bytes = 800};
  });
  Cluster cluster;
  cluster.name = "three";
  cluster.devices_per_node = 3;
  cluster.devices.assign(3, {.name = "device", .flops_per_s = 1e12, .memory_bytes_per_s = 1e12});
  cluster.intra_node = {.latency_ns = 10, .bytes_per_s = 1e12};
  cluster.finish();
  return {.num_layers = 4, .num_devices = 3, .batch = 4, .price = job_pricing(network, cluster, std::nullopt, {})};
}

}  // namespace

TEST_CASE("the front has the fastest plan of every number of devices") {
  const PlanJob job = job_on_three();
  PlanRanges ranges{.parallelisms = {Parallelism{.microbatch_size = 1}}, .places = {1, 2, 3}, .chunks = {2}};
  ranges.schedules = {"1f1b", "zb-h1"};
  const std::vector<ScoredPlan> front = search_front(job, ranges, {.most_exact = 100'000}, {});  // nothing is known
  for (const std::int32_t places : {1, 2, 3}) {
    CAPTURE(places);
    PlanRanges alone = ranges;
    alone.places = {places};
    const std::int64_t fastest = plumb::testing::fastest_of_all(job, alone);
    CHECK(std::ranges::any_of(front, [&](const ScoredPlan& score) {
      return score.plan.num_devices() == places && score.step_ns == fastest;
    }));
  }
}

TEST_SUITE_END();
