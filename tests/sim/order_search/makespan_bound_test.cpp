#include "sim/order_search/makespan_bound.hpp"

#include <utility>

#include <doctest/doctest.h>

#include "models/cluster/cluster_io.hpp"
#include "models/sources/abstract_costs.hpp"
#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/registry.hpp"
#include "sim/order_search/schedule_blocks.hpp"
#include "sim/simulate.hpp"
#include "tests/support/every_paired_order.hpp"

TEST_SUITE_BEGIN("sim");

namespace {

using namespace plumb;

Ticks paired_bound(std::int32_t m, const StageCosts& costs, double limit) {
  const Schedule frame = looped_schedule("paired", {.num_devices = 2, .num_microbatches = m}, 1, 1);
  BlockProblem problem = schedule_blocks(frame, {.stages = costs, .memory_limit = limit, .split = false});
  const PairedWork work = shorten_by_pairs(problem, costs);
  return least_makespan_with_pairs(problem, work, m);
}

}  // namespace

TEST_CASE("no order with pairs is below their bound, and some are as short") {
  int reached = 0;
  int cases = 0;
  for (const char* times : {"F=1,B=2", "F=1,B=2,FB=2.5", "F=2,B=3,F.comm=1,I.comm=1", "F=1,B=2,FB=2,FF=1.5,BB=3",
                            "F=1,B=2,FB=2.5,comm=0.5"}) {
    for (const double limit : {0.0, 1.0, 2.0}) {
      for (const std::int32_t m : {2, 3}) {
        CAPTURE(times);
        CAPTURE(limit);
        CAPTURE(m);
        const StageCosts costs = abstract_costs(times, "", {.num_stages = 2});
        const testing::BestPaired best = testing::shortest_with_pairs(m, costs, limit);
        REQUIRE(best.ran > 0);
        const Ticks bound = paired_bound(m, costs, limit);
        CHECK(bound <= best.makespan);
        CHECK(2 * bound >= best.makespan);
        ++cases;
        reached += bound == best.makespan ? 1 : 0;
      }
    }
  }
  CHECK(cases == 30);
  CHECK(reached >= 8);
}

TEST_CASE("without communication and without given times pairs spare nothing, and the bound is as high") {
  const StageCosts costs = abstract_costs("F=1,B=2", "", {.num_stages = 4});
  const Schedule frame = looped_schedule("paired", {.num_devices = 4, .num_microbatches = 8}, 1, 1);
  BlockProblem problem = schedule_blocks(frame, {.stages = costs, .split = false});
  CHECK(least_makespan(problem, 8) == 33'000'000);
  const PairedWork work = shorten_by_pairs(problem, costs);
  CHECK(least_makespan_with_pairs(problem, work, 8) == 33'000'000);
}

TEST_CASE("with many stages per device a pair is still of two passes") {
  // F alone, or half of a pair, is 1; B in a pair with F leaves 1.5. F at 1 and B at 1.25, the least of each, would be
  // less.
  for (const std::int32_t chunks : {1, 2, 8, 20}) {
    CAPTURE(chunks);
    const StageCosts costs = abstract_costs("F=1,B=2,FB=2.5", "", {.num_stages = 2 * chunks});
    const Schedule frame = looped_schedule("paired", {.num_devices = 2, .num_microbatches = 4}, chunks, 1);
    BlockProblem problem = schedule_blocks(frame, {.stages = costs, .split = false});
    for (const Ticks twice : shorten_by_pairs(problem, costs).twice_work) CHECK(twice == chunks * 5'000'000);
  }
}

TEST_CASE("orders with pairs on slower devices have a bound, too") {
  const StageCosts costs = abstract_costs("F=2,B=3,F.comm=1,I.comm=1", "", {.num_stages = 2});
  Cluster cluster = load_cluster("a100-1x2");
  cluster.devices[1].speed = 0.5;
  const Schedule schedule = generate("1f1b-overlap", {.num_devices = 2, .num_microbatches = 6});
  const BlockProblem problem = schedule_blocks(schedule, {.stages = costs, .cluster = &cluster, .split = false});
  const OrderBounds bounds = order_bounds(problem, costs, &cluster, 6);
  CHECK(bounds.with_pairs);
  const Ticks makespan = simulate_summary(schedule, costs, &cluster).makespan;
  CHECK(bounds.makespan <= makespan);
  CHECK(bounds.makespan >= makespan * 3 / 4);
}

TEST_CASE("the published 1F1B with overlapped passes is above its bound by what its first pairs wait") {
  // p = 4, m = 8, F = 1, B = 2, FB = 2.5: 29.5 (Victarry/PP-Schedule-Visualization); m = 16: 49.5.
  const StageCosts costs = abstract_costs("F=1,B=2,FB=2.5", "", {.num_stages = 4});
  for (const auto& [m, half_units] : {std::pair(8, 59), std::pair(16, 99)}) {
    const Schedule schedule = generate("1f1b-overlap", {.num_devices = 4, .num_microbatches = m});
    const Ticks makespan = simulate_summary(schedule, costs, nullptr, {}, {}).makespan;
    CHECK(2 * makespan == half_units * 1'000'000);
    BlockProblem problem = schedule_blocks(schedule, {.stages = costs, .split = false});
    const PairedWork work = shorten_by_pairs(problem, costs);
    const Ticks bound = least_makespan_with_pairs(problem, work, m);
    CHECK(2 * bound == (5 * m + 18) * 1'000'000);  // 2.5 a microbatch, behind and before three stages of 3
    CHECK(bound <= makespan);
  }
}

TEST_SUITE_END();
