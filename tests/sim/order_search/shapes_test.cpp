#include "sim/order_search/shapes.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "schedules/checks/validate.hpp"
#include "schedules/lowering/lower.hpp"
#include "sim/order_search/exact_order.hpp"
#include "sim/order_search/makespan_bound.hpp"
#include "sim/order_search/repetend_schedule.hpp"
#include "sim/order_search/schedule_search.hpp"
#include "sim/simulate.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/shape_rules.hpp"
#include "tests/support/shaped_blocks.hpp"
#include "tests/support/stepwise_search.hpp"

TEST_SUITE_BEGIN("sim");

namespace {

using namespace plumb;
using plumb::testing::drawn_shape;
using plumb::testing::kShapeUnit;
using plumb::testing::shaped_blocks;
using plumb::testing::ShapedBlocks;
using plumb::testing::ShapePasses;
using plumb::testing::ShapeRules;

/// Costs as options write them, and as numbers.
struct ShapeTimes {
  testing::ShapeCosts costs;
  ShapePasses passes;
};

ShapeTimes shape_times(Ticks f, Ticks b, Ticks s, Ticks t) {
  const std::string text =
      "F=" + std::to_string(f) + ",B=" + std::to_string(b) + ",S=" + std::to_string(s) + ",T=" + std::to_string(t);
  return {{.times = text}, {.forward = f, .backward = b, .shared_forward = s, .shared_backward = t}};
}

ShapePasses in_ticks(ShapePasses passes) {
  for (Ticks* time : {&passes.forward, &passes.backward, &passes.shared_forward, &passes.shared_backward}) {
    *time *= kShapeUnit;
  }
  return passes;
}

/// Runs `schedule` by both engines and holds it against the drawing of its shape; its makespan.
Ticks makespan_by_rules(const std::string& shape, const Schedule& schedule, const StageCosts& costs,
                        const ShapePasses& passes, std::int64_t limit) {
  REQUIRE(validate(schedule).empty());
  const Program program = lower(schedule, costs, nullptr, {});
  SimOptions options;
  options.engine = EngineChoice::kPass;
  const Timeline timeline = simulate(program, options);
  options.engine = EngineChoice::kEvent;
  const Timeline by_events = simulate(program, options);
  CHECK(by_events.spans == timeline.spans);
  const auto works = drawn_shape(shape, schedule.num_devices);
  ShapeRules(works, in_ticks(passes), schedule.num_microbatches).check(schedule, timeline, limit);
  for (const DeviceSummary& device : timeline.devices) {
    CHECK(device.peak_activations <= static_cast<double>(limit));
  }
  return timeline.makespan;
}

struct ShapeCase {
  std::string shape;
  std::int32_t devices;
  std::int64_t limit;
  Ticks period;
  Ticks backward = 3;
};

}  // namespace

TEST_CASE("repeated repetends of shapes are documents that both engines run by the rules, as often as proved") {
  for (const ShapeCase& row : std::vector<ShapeCase>{{"v", 4, 3, 6, 2},
                                                     {"x", 4, 4, 6, 2},
                                                     {"m", 2, 2, 6},
                                                     {"m", 4, 3, 10},
                                                     {"m", 4, 4, 7},
                                                     {"m", 4, 5, 6},
                                                     {"nn", 2, 1, 12},
                                                     {"nn", 4, 4, 9},
                                                     {"nn", 4, 6, 8},
                                                     {"k", 4, 3, 6},
                                                     {"interlaced", 4, 6, 8}}) {
    CAPTURE(row.shape);
    CAPTURE(row.limit);
    const ShapeTimes times = shape_times(1, row.backward, 1, 1);
    const auto makespan = [&](std::int64_t all) {
      const ShapedBlocks made = shaped_blocks(row.shape, row.devices, all, static_cast<double>(row.limit), times.costs);
      const FoundRepetend found = search_repetend(made.problem, 1, 200'000);
      CHECK(found.repetend.period == row.period * kShapeUnit);
      CHECK(found.proved());
      const Schedule schedule = repetend_schedule(made.frame, made.problem, found.repetend);
      const Ticks said = makespan_of(made.problem, repeated(made.problem, found.repetend, all), all);
      const Ticks run = makespan_by_rules(row.shape, schedule, made.costs, times.passes, row.limit);
      CHECK(run == said);
      return run;
    };
    CHECK(makespan(30) - makespan(20) == 10 * row.period * kShapeUnit);
  }
}

TEST_CASE("branch and bound over shapes is as short as trying everything, unit by unit of time") {
  for (const std::string shape : {"x", "m", "nn", "k", "interlaced"}) {
    for (const ShapeTimes& times : {shape_times(1, 3, 1, 1), shape_times(1, 2, 2, 1)}) {
      for (const std::int64_t limit : {1, 2, 3}) {
        for (const std::int64_t m : {1, 2, 3}) {
          if (shape == "x" && limit < 2) continue;  // one microbatch keeps two
          if ((shape == "x" || shape == "interlaced" || shape == "nn") && m > 2) continue;
          CAPTURE(shape);
          CAPTURE(limit);
          CAPTURE(m);
          const ShapedBlocks made = shaped_blocks(shape, 2, m, static_cast<double>(limit), times.costs);
          const ProvedMakespan proved = prove_makespan(
              made.problem, m,
              {.orders = {}, .found = std::numeric_limits<Ticks>::max(), .bound = least_makespan(made.problem, m)},
              200'000);
          REQUIRE(proved.proved());
          const auto works = drawn_shape(shape, 2);
          CHECK(proved.found == kShapeUnit * testing::StepwiseSearch(works, times.passes, m, limit).shortest());
          const Schedule schedule = with_orders(made.frame, made.problem, proved.orders);
          CHECK(makespan_by_rules(shape, schedule, made.costs, times.passes, limit) == proved.found);
        }
      }
    }
  }
}

TEST_CASE("a search over a shape gives whole documents within their bound, by the rules, whatever it found them by") {
  for (const std::string shape : {"v", "x", "m", "nn", "k"}) {
    CAPTURE(shape);
    const ShapeTimes times = shape_times(1, 3, 1, 1);
    constexpr std::int64_t kLimit = 4;
    ScheduleSearch search;
    search.params = {.num_devices = 4, .num_microbatches = 6};
    search.memory_limit = [](const Schedule&) { return static_cast<double>(kLimit); };
    search.run = [&](const Schedule& schedule) {
      const std::vector<StageId> shares = shares_of_blocks(schedule);
      OrderRun run{.costs = abstract_costs(times.costs.times, times.costs.memory,
                                           {.num_stages = schedule.num_stages, .shares = shares})};
      run.fits = [](const Timeline& timeline) {
        return std::ranges::all_of(timeline.devices, [](const DeviceSummary& device) {
          return device.peak_activations <= static_cast<double>(kLimit);
        });
      };
      return run;
    };
    search.split = false;
    search.nodes = 1'000;
    search.simulations = 100;
    search.start = SearchStart{.name = shape, .schedule = shape_frame(shape, 4, 6)};
    const ScheduleSearchAnswer answer = search_schedules(search);
    REQUIRE(answer.orders.size() > 1);
    for (const SearchedOrder& order : answer.orders) {
      CAPTURE(order.name);
      const StageCosts costs = search.run(order.schedule).costs;
      CHECK(makespan_by_rules(shape, order.schedule, costs, times.passes, kLimit) == order.timeline.makespan);
      CHECK(order.bound > 0);
      CHECK(order.timeline.makespan >= order.bound);
    }
    CHECK(std::ranges::count(answer.orders, OrderOrigin::kRepetend, &SearchedOrder::origin) > 0);
    REQUIRE(answer.families.size() == 1);
    CHECK(answer.families.front().periods.front().period == answer.families.front().periods.front().bound);
  }
}

TEST_CASE("a folded document of a shape takes as long as all of its passes, and its jump is exact") {
  for (const std::string shape : {"x", "m", "nn", "k", "interlaced"}) {
    for (const std::string comm : {"", ",comm=1/2"}) {
      CAPTURE(shape);
      const ShapedBlocks made = shaped_blocks(shape, 4, 3'000, 6, {.times = "F=1,B=3,S=1,T=1" + comm});
      const FoundRepetend found = search_repetend(made.problem, 2, 2'000);
      const Schedule schedule = repetend_schedule(made.frame, made.problem, found.repetend);
      std::int64_t written = 0;
      for (const DeviceList& list : schedule.devices) written += std::ssize(list.actions);
      CHECK(written < 1'000);
      static int full_runs;
      full_runs = 0;
      SimOptions options;
      options.on_full_run = [](const WorkSize&) { ++full_runs; };
      const Timeline jumped = simulate_summary(schedule, made.costs, nullptr, {}, options);
      CHECK(full_runs == 0);
      options.spans = false;
      const Timeline whole = simulate(lower(schedule, made.costs, nullptr, {}), options);
      CHECK(jumped.makespan == whole.makespan);
      REQUIRE(jumped.devices.size() == whole.devices.size());
      for (std::size_t d = 0; d < whole.devices.size(); ++d) {
        CHECK(jumped.devices[d].busy == whole.devices[d].busy);
        CHECK(jumped.devices[d].idle_causes == whole.devices[d].idle_causes);
        CHECK(jumped.devices[d].peak_activations == whole.devices[d].peak_activations);
      }
    }
  }
}

TEST_CASE("where messages take time, a shared block waits for all of its inputs and begins everywhere at once") {
  ShapedBlocks made = shaped_blocks("nn", 4, 3, 6, {.times = "F=1,B=3,S=1,T=1,comm=2"});
  const FoundRepetend found = search_repetend(made.problem, 1, 20'000);
  const Schedule schedule = repetend_schedule(made.frame, made.problem, found.repetend);
  const Timeline timeline = simulate(lower(schedule, made.costs, nullptr, {}), {});
  CHECK(timeline.makespan == makespan_of(made.problem, repeated(made.problem, found.repetend, 3), 3));
  for (const Span& share : timeline.spans) {
    if (share.action.stage != StageId{6} || share.action.op != Op::kF) continue;
    for (const Span& other : timeline.spans) {
      const bool is_share = index(other.action.stage) >= 6 && index(other.action.stage) < 10;
      const bool same = other.action.op == Op::kF && other.action.microbatch == share.action.microbatch;
      if (is_share && same) CHECK(other.start == share.start);
      if (other.action.stage == StageId{5} && same) CHECK(share.start >= other.end + 2 * kShapeUnit);
    }
  }
}

TEST_CASE("shapes that cannot be placed are refused, and stages that start together take the same") {
  const auto message = [](const std::string& shape, std::int32_t p) {
    return testing::error_message([&] { shape_frame(shape, p, 1); });
  };
  CHECK(message("k", 3) == "shape k: 3 devices, expected an even number of at least 2");
  CHECK(message("m", 1) == "shape m: 1 devices, expected at least 2");
  CHECK(message("w", 2).starts_with("unknown shape"));
  const Schedule frame = shape_frame("m", 2, 2);
  StageCosts costs = abstract_costs("F=1,B=2", "", {.num_stages = frame.num_stages});
  costs.times[1].f = 7;
  CHECK(testing::error_message([&] { schedule_blocks(frame, {.stages = costs}); }) ==
        "m: stages 0 and 1 start together and take unlike times or memory, expected the same of both");
  Schedule chain = frame;
  chain.stage_edges->emplace_back(StageId{0}, StageId{1});
  CHECK(why_no_blocks(chain) == "its stages that start together feed each other");
}

TEST_SUITE_END();
