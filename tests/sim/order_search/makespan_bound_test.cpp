#include "sim/order_search/makespan_bound.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "models/sources/abstract_costs.hpp"
#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/registry.hpp"
#include "sim/order_search/schedule_blocks.hpp"
#include "sim/simulate.hpp"

TEST_SUITE_BEGIN("sim");

namespace {

using namespace plumb;

/// All lists of a device of a straight pipeline, with whole backwards and microbatches in turn: every order of its
/// forwards and backwards, each with every set of neighbours as pairs.
std::vector<std::vector<Action>> lists_with_pairs(std::int32_t stage, std::int32_t m) {
  std::vector<std::vector<Action>> lists;
  for (unsigned which = 0; which < (1U << (2 * m)); ++which) {
    std::vector<Action> list;
    std::int32_t forwards = 0;
    std::int32_t backwards = 0;
    for (int at = 0; at < 2 * m; ++at) {
      const bool forward = ((which >> at) & 1U) == 0;
      list.push_back(action_of(stage, forward ? Op::kF : Op::kB, forward ? forwards++ : backwards++));
      if (backwards > forwards) break;
    }
    if (forwards != m || backwards != m) continue;
    for (unsigned pairs = 0; pairs < (1U << (2 * m - 1)); ++pairs) {
      if ((pairs & (pairs << 1)) != 0) continue;  // nothing is in two pairs
      std::vector<Action> paired = list;
      bool possible = true;
      for (std::size_t at = 0; at + 1 < paired.size(); ++at) {
        if (((pairs >> at) & 1U) == 0) continue;
        paired[at].overlaps_next = 1;
        possible =
            possible && (paired[at].microbatch != paired[at + 1].microbatch || paired[at].op == paired[at + 1].op);
      }
      if (possible) lists.push_back(std::move(paired));
    }
  }
  return lists;
}

struct BestPaired {
  Ticks makespan = std::numeric_limits<Ticks>::max();
  std::int64_t ran = 0;
};

/// The shortest of all orders of two stages in which every device keeps at most `limit` stashes; 0: any number.
BestPaired shortest_with_pairs(std::int32_t m, const StageCosts& costs, double limit) {
  Schedule schedule = looped_schedule("paired", {.num_devices = 2, .num_microbatches = m}, 1, 1);
  schedule.devices.resize(2);
  BestPaired best;
  SimOptions options{.spans = false, .memory_curve = false, .idle_causes = false, .critical_path = false};
  for (const auto& first : lists_with_pairs(0, m)) {
    for (const auto& second : lists_with_pairs(1, m)) {
      schedule.devices[0].actions = first;
      schedule.devices[1].actions = second;
      try {
        const Timeline timeline = simulate_summary(schedule, costs, nullptr, {}, options);
        const bool fits = limit == 0 || std::ranges::all_of(timeline.devices, [limit](const DeviceSummary& device) {
                            return device.peak_activations <= limit + 1e-9;
                          });
        if (!fits) continue;
        best.makespan = std::min(best.makespan, timeline.makespan);
        ++best.ran;
      } catch (const Error&) {  // it hangs
      }
    }
  }
  return best;
}

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
        const BestPaired best = shortest_with_pairs(m, costs, limit);
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
