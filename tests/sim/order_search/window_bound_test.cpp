#include <algorithm>
#include <random>

#include <doctest/doctest.h>

#include "models/sources/abstract_costs.hpp"
#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/catalogue/v_placement.hpp"
#include "sim/order_search/exact_order.hpp"
#include "sim/order_search/makespan_bound.hpp"
#include "sim/order_search/schedule_blocks.hpp"
#include "sim/simulate.hpp"

TEST_SUITE_BEGIN("sim");

namespace {

using namespace plumb;

constexpr Ticks kWindowMs = 1'000'000;

struct SlowPipeline {
  BlockProblem problem;
  Schedule frame;
  StageCosts costs;
};

/// Two stages per device in a V, or one, with the memory of `kept` microbatches of a device, times per device.
SlowPipeline slow_pipeline(std::int32_t p, std::int64_t m, bool in_v, double kept, const std::string& times) {
  const std::int32_t chunks = in_v ? 2 : 1;
  SlowPipeline made;
  made.frame = looped_schedule("slow", {.num_devices = p, .num_microbatches = m}, chunks, 1);
  if (in_v) place_in_v(made.frame);
  made.costs = abstract_costs(times, "", {.num_stages = p * chunks, .stages_together = chunks});
  BlockCosts costs{.stages = made.costs, .memory_limit = kept * chunks, .split = true};
  made.problem = schedule_blocks(made.frame, costs);
  return made;
}

Ticks makespan_of_named(const char* name, const SlowPipeline& pipeline) {
  const Schedule schedule =
      generate(name, {.num_devices = pipeline.frame.num_devices, .num_microbatches = pipeline.frame.num_microbatches});
  return simulate_summary(schedule, pipeline.costs, nullptr, {}, {}).makespan;
}

}  // namespace

TEST_CASE("with slow links zb-v is proved to be the shortest order on its placement in its memory") {
  for (const auto& [times, half_ms] : {std::pair("F=1,I=1,W=1,comm=0.5", 89), std::pair("F=1,I=1,W=1,comm=1", 107)}) {
    CAPTURE(times);
    const SlowPipeline four = slow_pipeline(4, 12, true, 4, times);
    CHECK(2 * least_makespan(four.problem, 12) == half_ms * kWindowMs);
    CHECK(2 * makespan_of_named("zb-v", four) == half_ms * kWindowMs);
    const SlowPipeline eight = slow_pipeline(8, 16, true, 8, times);
    CHECK(least_makespan(eight.problem, 16) <= makespan_of_named("zb-v", eight));
  }
}

TEST_CASE("the bound of the windows is never above what branch and bound proves to be the shortest") {
  std::mt19937 random(7);
  int decided = 0;
  for (int turn = 0; turn < 60; ++turn) {
    const auto draw = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
    const std::int32_t p = draw(2, 3);
    const std::int64_t m = draw(2, 4);
    SlowPipeline one = slow_pipeline(p, m, draw(0, 1) == 1, draw(2, 6) / 2.0, "F=1,I=1,W=1,comm=1");
    for (WorkBlock& block : one.problem.blocks) {
      block.time = draw(1, 4);
      for (WorkBlock::Input& input : block.inputs) input.delay = input.delay == 0 ? 0 : draw(0, 4);
      // Half of what is kept may be freed by the first half of a backward.
      const bool early = turn % 2 == 0;
      block.stash = block.action.op == Op::kF ? 2 : block.action.op == Op::kI ? (early ? -1 : 0) : (early ? -1 : -2);
    }
    const std::int64_t limit = draw(4, 10);
    for (std::int64_t& each : one.problem.limits) each = limit;
    const ProvedMakespan proved =
        prove_makespan(one.problem, m, {.orders = {}, .found = 1'000'000, .bound = 1}, 100'000);
    if (!proved.proved()) continue;
    ++decided;
    CHECK(least_by_windows(one.problem, m) <= proved.found);
    CHECK(least_makespan(one.problem, m) <= proved.found);
  }
  CHECK(decided > 30);
}

TEST_SUITE_END();
