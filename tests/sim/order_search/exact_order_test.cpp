#include "sim/order_search/exact_order.hpp"

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "models/sources/abstract_costs.hpp"
#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/registry.hpp"
#include "sim/order_search/makespan_bound.hpp"
#include "sim/simulate.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/shaped_blocks.hpp"

TEST_SUITE_BEGIN("sim");

namespace {

using namespace plumb;

constexpr Ticks kUnknown = std::numeric_limits<Ticks>::max();

ProvedMakespan prove(const BlockProblem& problem, std::int64_t microbatches, std::int64_t nodes = 200'000) {
  return prove_makespan(problem, microbatches,
                        {.orders = {}, .found = kUnknown, .bound = least_makespan(problem, microbatches)}, nodes);
}

/// All orders of kinds on every device, one after another: the shortest makespan.
Ticks shortest_of_all(const BlockProblem& problem, std::int64_t microbatches) {
  const auto on = blocks_by_device(problem);
  std::vector<std::vector<std::int32_t>> words;
  for (const auto& blocks : on) {
    words.emplace_back();
    for (const std::int32_t b : blocks) words.back().insert(words.back().end(), microbatches, b);
    std::ranges::sort(words.back());
  }
  Ticks best = kUnknown;
  for (;;) {
    BlockOrders orders(words.size());
    for (std::size_t d = 0; d < words.size(); ++d) {
      std::vector<std::int64_t> counts(problem.blocks.size(), 0);
      for (const std::int32_t b : words[d]) orders[d].push_back({b, counts[static_cast<std::size_t>(b)]++});
    }
    const Ticks makespan = makespan_of(problem, orders, microbatches);
    if (makespan >= 0) best = std::min(best, makespan);
    std::size_t d = 0;
    while (d < words.size() && !std::ranges::next_permutation(words[d]).found) ++d;
    if (d == words.size()) return best;
  }
}

BlockProblem with_random_times(BlockProblem problem, std::mt19937& random) {
  for (WorkBlock& block : problem.blocks) {
    block.time = std::uniform_int_distribution<Ticks>(1, 4)(random);
    for (WorkBlock::Input& input : block.inputs) input.delay = std::uniform_int_distribution<Ticks>(0, 2)(random);
  }
  return problem;
}

struct Pipeline {
  Schedule frame;
  BlockProblem problem;
  StageCosts costs;
};

Pipeline pipeline(std::int32_t devices, std::int64_t microbatches, double limit, bool split) {
  Pipeline made{.frame = looped_schedule(
                    "searched", {.num_devices = devices, .num_microbatches = microbatches, .options = {}}, 1, 1),
                .problem = {},
                .costs = abstract_costs("F=1,B=2,comm=0.5", "", {.num_stages = devices})};
  made.problem = schedule_blocks(made.frame, {.stages = made.costs, .memory_limit = limit, .split = split});
  return made;
}

}  // namespace

TEST_CASE("branch and bound finds the shortest of all orders, and proves it") {
  std::mt19937 random(7);
  for (int round = 0; round < (testing::kSanitized ? 12 : 60); ++round) {
    const bool joined = !testing::kSanitized && round == 3;  // six million orders
    const std::int32_t devices = joined || round % 2 == 0 ? 2 : 3;
    const std::int64_t microbatches = joined ? 2 : 3;
    const std::int64_t limit = 1 + round % 3;
    CAPTURE(round);
    const BlockProblem problem = with_random_times(
        testing::shaped_blocks(joined ? "m" : "v", devices, microbatches, static_cast<double>(limit)).problem, random);
    const ProvedMakespan proved = prove(problem, microbatches);
    CHECK(proved.proved());
    CHECK(proved.found == shortest_of_all(problem, microbatches));
    CHECK(least_makespan(problem, microbatches) <= proved.found);
    CHECK(makespan_of(problem, proved.orders, microbatches) == proved.found);
  }
}

TEST_CASE("the engine agrees with what branch and bound proves") {
  for (const bool split : {false, true}) {
    for (const std::int32_t devices : {2, 3, 4}) {
      for (double limit = 1; limit <= devices; ++limit) {
        const Pipeline made = pipeline(devices, 6, limit, split);
        const ProvedMakespan proved = prove(made.problem, 6);
        CAPTURE(devices);
        CAPTURE(limit);
        CAPTURE(split);
        CHECK(proved.proved());
        const Timeline timeline = simulate_summary(with_orders(made.frame, made.problem, proved.orders), made.costs);
        CHECK(timeline.makespan == proved.found);
        for (const DeviceSummary& device : timeline.devices) CHECK(device.peak_activations <= limit);
      }
    }
  }
}

TEST_CASE("a search that runs out of nodes keeps a bound that holds and what it was given") {
  const Pipeline made = pipeline(4, 12, 3, true);
  const ProvedMakespan whole = prove(made.problem, 12);
  CHECK(whole.proved());
  const ProvedMakespan some = prove(made.problem, 12, 50);
  CHECK(some.nodes <= 50);
  CHECK(some.bound <= whole.found);
  CHECK_FALSE(some.proved());
}

TEST_CASE("with room for all stashes the shortest whole-backward pipeline is 1F1B") {
  const Pipeline made = pipeline(4, 8, 4, false);
  CHECK(prove(made.problem, 8).found <=
        simulate_summary(generate("1f1b", {.num_devices = 4, .num_microbatches = 8}), made.costs).makespan);
  const StageCosts plain = abstract_costs("F=1,B=2", "", {.num_stages = 4});
  const BlockProblem problem = schedule_blocks(made.frame, {.stages = plain, .memory_limit = 4, .split = false});
  CHECK(prove(problem, 8).found ==
        simulate_summary(generate("1f1b", {.num_devices = 4, .num_microbatches = 8}), plain).makespan);
}

TEST_SUITE_END();
