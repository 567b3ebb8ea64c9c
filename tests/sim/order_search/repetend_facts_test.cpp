#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "sim/order_search/exact_order.hpp"
#include "sim/order_search/repetend.hpp"
#include "sim/order_search/repetend_schedule.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb::testing {
namespace {

/// A pipeline there and back of one or two devices: forwards, then backwards, which free what forwards keep.
BlockProblem there_and_back(std::mt19937& random) {
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  BlockProblem problem;
  problem.num_devices = static_cast<std::int32_t>(draw(1, 2));
  const std::int32_t stages = static_cast<std::int32_t>(draw(1, 2));
  std::vector<std::int64_t> kept;
  for (std::int32_t b = 0; b < 2 * stages; ++b) {
    const std::int32_t stage = b < stages ? b : 2 * stages - 1 - b;
    if (b < stages) kept.push_back(draw(1, 3));
    WorkBlock block;
    block.name = std::to_string(b);
    block.devices = {stage % problem.num_devices};
    block.time = draw(1, 4);
    block.stash = b < stages ? kept.back() : -kept[static_cast<std::size_t>(stage)];
    block.action.stage = StageId{stage};
    if (b > 0) block.inputs = {{b - 1, draw(0, 2)}};
    problem.blocks.push_back(block);
  }
  problem.limits.assign(static_cast<std::size_t>(problem.num_devices), 0);
  for (std::int32_t b = 0; b < stages; ++b) {
    problem.limits[static_cast<std::size_t>(b % problem.num_devices)] += kept[static_cast<std::size_t>(b)];
  }
  for (std::int64_t& limit : problem.limits) limit += draw(0, 4);
  return problem;
}

/// Whether blocks that start at `starts` (by block, then microbatch of the period) and again after every period are
/// possible: inputs are there, no device does two things at once, and no more is kept than there is room for.
bool is_possible(const BlockProblem& problem, const std::vector<Ticks>& starts, std::int64_t each, Ticks period) {
  const auto start = [&](std::int32_t b, std::int64_t j) { return starts[static_cast<std::size_t>(b * each + j)]; };
  constexpr std::int64_t kTurns = 16;  // before and behind: more than any microbatch lasts
  for (std::int32_t b = 0; b < problem.size(); ++b) {
    const WorkBlock& block = problem.block(b);
    for (std::int64_t j = 0; j < each; ++j) {
      for (const WorkBlock::Input& input : block.inputs) {
        if (start(input.block, j) + problem.block(input.block).time + input.delay > start(b, j)) return false;
      }
      std::int64_t open = 0;
      for (std::int32_t c = 0; c < problem.size(); ++c) {
        const WorkBlock& other = problem.block(c);
        if (other.devices != block.devices) continue;
        for (std::int64_t i = 0; i < each; ++i) {
          for (std::int64_t turn = -kTurns; turn <= kTurns; ++turn) {
            const Ticks at = start(c, i) + turn * period;
            const bool itself = b == c && i == j && turn == 0;
            if (!itself && at < start(b, j) + block.time && start(b, j) < at + other.time) return false;
            if (turn == kTurns || other.stash == 0) continue;
            // From turn -kTurns on everything is counted, so what cancels is gone.
            if (other.stash > 0 && at <= start(b, j)) open += other.stash;
            if (other.stash < 0 && at + other.time <= start(b, j)) open += other.stash;
          }
        }
      }
      if (block.stash > 0 && open > problem.limits[static_cast<std::size_t>(block.devices.front())]) return false;
    }
  }
  return true;
}

/// Of one microbatch in every `period`, where every block waits less than a period for its input: the least time from
/// the first start to the last end, of all ways to wait; -1: there is none.
Ticks shortest_span(const BlockProblem& problem, Ticks period) {
  Ticks shortest = -1;
  std::vector<Ticks> waits(problem.blocks.size(), 0);
  for (;;) {
    std::vector<Ticks> starts;
    for (std::size_t b = 0; b < waits.size(); ++b) {
      const Ticks ready = b == 0 ? 0 : starts[b - 1] + problem.blocks[b - 1].time + problem.blocks[b].inputs[0].delay;
      starts.push_back(ready + waits[b]);
    }
    const Ticks span = starts.back() + problem.blocks.back().time;
    if ((shortest < 0 || span < shortest) && is_possible(problem, starts, 1, period)) shortest = span;
    std::size_t b = 1;
    while (b < waits.size() && ++waits[b] == period) waits[b++] = 0;
    if (b >= waits.size()) return shortest;
  }
}

Ticks shortest_period(const BlockProblem& problem) {
  Ticks period = std::ranges::max(work_of(problem));
  while (shortest_span(problem, period) < 0) ++period;
  return period;
}

}  // namespace

TEST_CASE("the shortest period of one microbatch, and its shortest span, are those of all start times") {
  std::mt19937 random(81);
  int waits = 0;
  for (int round = 0; round < 80; ++round) {
    CAPTURE(round);
    const BlockProblem problem = there_and_back(random);
    const FoundRepetend found = search_repetend(problem, 1, 20'000);
    const Ticks shortest = shortest_period(problem);
    CHECK(found.proved());
    CHECK(found.repetend.period == shortest);
    CHECK(is_possible(problem, found.repetend.starts, 1, found.repetend.period));
    CHECK(std::ranges::min(found.repetend.starts) == 0);
    waits += shortest > std::ranges::max(work_of(problem)) ? 1 : 0;
    for (const std::int32_t each : {2, 3}) {
      const FoundRepetend more = search_repetend(problem, each, 20'000);
      CHECK(more.repetend.microbatches == each);
      CHECK(is_possible(problem, more.repetend.starts, each, more.repetend.period));
      CHECK(more.bound <= more.repetend.period);
      CHECK(more.bound <= each * shortest);  // as often the one of one microbatch
      if (more.proved()) CHECK(more.repetend.period <= each * shortest);
      CHECK(more.bound >= each * std::ranges::max(work_of(problem)));
    }
    // So many microbatches, repeated, are an order that runs, no longer than the period says.
    const BlockOrders orders = repeated(problem, found.repetend, 5);
    Ticks end = 0;
    for (std::size_t b = 0; b < problem.blocks.size(); ++b) {
      end = std::max(end, found.repetend.starts[b] + problem.blocks[b].time);
    }
    CHECK(end == shortest_span(problem, shortest));
    const Ticks makespan = makespan_of(problem, orders, 5);
    CHECK(makespan > 0);
    CHECK(makespan <= end + 4 * found.repetend.period);
  }
  CHECK(waits > 10);
}

TEST_CASE("parts of a microbatch that share no edge are searched within a period of each other") {
  std::mt19937 random(82);
  for (int round = 0; round < 20; ++round) {
    CAPTURE(round);
    BlockProblem problem;
    problem.num_devices = 1;
    problem.limits = {100};
    for (std::int32_t b = 0; b < 3; ++b) {
      WorkBlock block;
      block.name = std::to_string(b);
      block.devices = {0};
      block.time = 1 + static_cast<Ticks>(random() % 4);
      block.action.stage = StageId{b};
      problem.blocks.push_back(block);
    }
    const Ticks period = work_of(problem).front() + static_cast<Ticks>(random() % 3);
    RepetendTree tree(problem, 1, period, std::numeric_limits<Ticks>::max());
    std::int64_t nodes = 1000;
    const std::optional<Repetend> found = tree.search(nodes);
    REQUIRE(found.has_value());
    for (const std::int32_t b : {1, 2}) {
      const Ticks behind = found->start(b, 0) - found->start(0, 0);
      CHECK(behind >= problem.block(0).time);
      CHECK(behind + problem.block(b).time <= period);
    }
  }
}

TEST_CASE("a tree that is given as many nodes as it visits finds its leaf, and with one fewer it does not") {
  std::mt19937 random(83);
  for (int round = 0; round < 30; ++round) {
    CAPTURE(round);
    const BlockProblem problem = there_and_back(random);
    const Ticks period = search_repetend(problem, 1, 20'000).repetend.period;
    RepetendTree tree(problem, 1, period, std::numeric_limits<Ticks>::max());
    std::int64_t nodes = 1000;
    REQUIRE(tree.search(nodes));
    const std::int64_t visited = 1000 - nodes;
    REQUIRE(visited > 0);
    nodes = visited;
    CHECK(tree.search(nodes));
    CHECK(nodes == 0);
    nodes = visited - 1;
    CHECK_FALSE(tree.search(nodes));
    // Nothing is shorter than the longest chain, and no period than the work of a device.
    nodes = 1000;
    CHECK_FALSE(RepetendTree(problem, 1, period, longest_chain(problem) - 1).search(nodes));
    nodes = 1000;
    const Ticks work = std::ranges::max(work_of(problem));
    CHECK_FALSE(RepetendTree(problem, 1, work - 1, std::numeric_limits<Ticks>::max()).search(nodes));
  }
}

TEST_CASE("a search of periods without nodes keeps what it begins with: one microbatch after another, and a bound") {
  std::mt19937 random(82);
  for (int round = 0; round < 20; ++round) {
    const BlockProblem problem = there_and_back(random);
    const FoundRepetend none = search_repetend(problem, 2, 0);
    Ticks all = 0;
    for (std::size_t b = 0; b < problem.blocks.size(); ++b) {
      all += problem.blocks[b].time + (b == 0 ? 0 : problem.blocks[b].inputs[0].delay);
    }
    CHECK(none.nodes == 0);
    CHECK(none.repetend.period == 2 * all);
    CHECK(is_possible(problem, none.repetend.starts, 2, none.repetend.period));
    CHECK(none.bound == 2 * std::ranges::max(work_of(problem)));
  }
}

}  // namespace plumb::testing

TEST_SUITE_END();
