#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "models/sources/abstract_costs.hpp"
#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/v_placement.hpp"
#include "sim/order_search/makespan_bound.hpp"
#include "sim/order_search/pair_savings.hpp"
#include "sim/order_search/schedule_blocks.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb::testing {
namespace {

std::int64_t in_range(std::mt19937& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

/// Stages with forward, two halves of a backward, on devices in turn; whoever comes later waits for some that came
/// before.
BlockProblem drawn_problem(std::mt19937& random, bool in_chain) {
  BlockProblem problem;
  problem.num_devices = static_cast<std::int32_t>(in_range(random, 1, 3));
  const auto stages = static_cast<std::int32_t>(in_range(random, 1, 3));
  std::vector<std::array<std::int64_t, 3>> stash;
  for (std::int32_t s = 0; s < stages; ++s) {
    const std::int64_t kept = in_range(random, 1, 5);
    const std::int64_t early = in_range(random, 0, kept);
    stash.push_back({kept, -early, early - kept});
  }
  const auto add = [&](std::int32_t stage, int part) {
    WorkBlock block;
    block.name = std::to_string(problem.size());
    block.devices = {stage % problem.num_devices};
    block.time = in_range(random, 0, 9);
    block.stash = stash[static_cast<std::size_t>(stage)][static_cast<std::size_t>(part)];
    block.action.stage = StageId{stage};
    for (std::int32_t b = 0; b < problem.size(); ++b) {
      const bool next = b + 1 == problem.size();
      if (in_chain ? next : (problem.block(b).action.stage == block.action.stage || in_range(random, 0, 2) == 0)) {
        block.inputs.push_back({b, in_range(random, 0, 3)});
      }
    }
    problem.blocks.push_back(block);
  };
  for (std::int32_t s = 0; s < stages; ++s) add(s, 0);
  for (std::int32_t s = stages; s-- > 0;) add(s, 1);
  for (std::int32_t s = stages; s-- > 0;) add(s, 2);
  for (std::int32_t d = 0; d < problem.num_devices; ++d) problem.limits.push_back(in_range(random, 15, 40));
  return problem;
}

/// The longest way from the start of `from` to the end of `to`, all of them tried; -1: there is none.
Ticks longest_way(const BlockProblem& problem, std::int32_t from, std::int32_t to) {
  if (from == to) return problem.block(from).time;
  Ticks longest = -1;
  for (const WorkBlock::Input& input : problem.block(to).inputs) {
    if (input.block < from) continue;
    const Ticks before = longest_way(problem, from, input.block);
    if (before >= 0) longest = std::max(longest, before + input.delay + problem.block(to).time);
  }
  return longest;
}

Ticks before_start(const BlockProblem& problem, std::int32_t b) {
  Ticks longest = 0;
  for (std::int32_t a = 0; a < b; ++a) longest = std::max(longest, longest_way(problem, a, b) - problem.block(b).time);
  return longest;
}

Ticks after_end(const BlockProblem& problem, std::int32_t b) {
  Ticks longest = 0;
  for (std::int32_t c = b + 1; c < problem.size(); ++c) {
    longest = std::max(longest, longest_way(problem, b, c) - problem.block(b).time);
  }
  return longest;
}

/// All that `memory_rounds` says of one device, from its words.
std::vector<MemoryRound> rounds_of_device(const BlockProblem& problem, const std::vector<std::int32_t>& on,
                                          std::int64_t limit) {
  const auto leads = [&](std::int32_t a, std::int32_t b) { return longest_way(problem, a, b) >= 0; };
  const auto same = [&](std::int32_t a, std::int32_t b) {
    return problem.block(a).action.stage == problem.block(b).action.stage;
  };
  std::vector<MemoryRound> rounds;
  for (const std::int32_t takes : on) {
    for (const std::int32_t frees : on) {
      if (problem.block(takes).stash <= 0 || problem.block(frees).stash >= 0 || !leads(takes, frees)) continue;
      std::int64_t kept = 0;  // from the start of the one to the end of the other
      std::int64_t open = 0;  // when the one starts, of this microbatch
      for (const std::int32_t b : on) {
        const std::int64_t stash = problem.block(b).stash;
        if (stash > 0 && leads(b, takes)) open += stash;
        if (stash < 0 && !leads(takes, b)) open += stash;
        if (stash <= 0 || !leads(b, takes)) continue;
        kept += stash;
        for (const std::int32_t c : on) {
          if (problem.block(c).stash < 0 && same(b, c) && !leads(frees, c)) kept += problem.block(c).stash;
        }
      }
      if (kept <= 0) continue;
      open = std::max(open, problem.block(takes).stash);
      rounds.push_back({takes, frees, (limit - open) / kept + 1, longest_way(problem, takes, frees)});
    }
  }
  return rounds;
}

/// Stash times time of a microbatch; nothing where what frees is not on a way from what takes.
std::optional<Ticks> stash_time_of(const BlockProblem& problem, const std::vector<std::int32_t>& on) {
  Ticks sum = 0;
  for (const std::int32_t takes : on) {
    for (const std::int32_t frees : on) {
      const bool same = problem.block(takes).action.stage == problem.block(frees).action.stage;
      if (!same || problem.block(takes).stash <= 0 || problem.block(frees).stash >= 0) continue;
      const Ticks way = longest_way(problem, takes, frees);
      if (way < 0) return std::nullopt;
      sum -= problem.block(frees).stash * way;
    }
  }
  return sum;
}

/// A fraction of ticks over microbatches, the largest of those that are told.
struct LargestRate {
  Ticks ticks = 0;
  std::int64_t microbatches = 1;

  void tell(Ticks more, std::int64_t of) {
    if (more * microbatches > ticks * of) *this = {more, of};
  }
  bool is(const LeastRate& rate) const { return rate.ticks * microbatches == ticks * rate.microbatches; }
};

std::vector<Ticks> least_of_device(const BlockProblem& problem, const std::vector<std::int32_t>& on) {
  Ticks head = std::numeric_limits<Ticks>::max();
  Ticks tail = head;
  Ticks work = 0;
  for (const std::int32_t b : on) {
    head = std::min(head, before_start(problem, b));
    tail = std::min(tail, after_end(problem, b));
    work += problem.block(b).time;
  }
  return {head, work, tail};
}

}  // namespace

TEST_CASE("bounds of orders are the largest of work, kinds, memory and stash times time, each from its own words") {
  std::mt19937 random(51);
  int by_memory = 0;
  int by_stash_time = 0;
  for (int round = 0; round < 600; ++round) {
    CAPTURE(round);
    BlockProblem problem = drawn_problem(random, round % 2 == 0);
    if (round % 3 == 2) {  // slow messages, and room for one to three microbatches
      problem.limits.assign(problem.limits.size(), 0);
      for (WorkBlock& block : problem.blocks) {
        problem.limits[static_cast<std::size_t>(block.devices[0])] += std::max<std::int64_t>(0, block.stash);
        for (WorkBlock::Input& input : block.inputs) input.delay += in_range(random, 0, 40);
      }
      for (std::int64_t& limit : problem.limits) limit += in_range(random, 0, 2 * limit);
    }
    if (round % 5 == 4) problem.limits[0] = std::numeric_limits<std::int64_t>::max() / 4;
    const std::int64_t m = in_range(random, 1, 9);
    const auto on = blocks_by_device(problem);
    Ticks bound = least_by_windows(problem, m);
    LargestRate rate;
    Ticks chain = 0;
    Ticks stash_time = 0;
    for (std::int32_t b = 0; b < problem.size(); ++b) {
      const auto at = static_cast<std::size_t>(b);
      CHECK(heads_of(problem)[at] == before_start(problem, b));
      CHECK(tails_of(problem)[at] == after_end(problem, b));
      bound = std::max(bound, before_start(problem, b) + m * problem.block(b).time + after_end(problem, b));
      chain = std::max(chain, before_start(problem, b) + problem.block(b).time);
    }
    CHECK(longest_chain(problem) == chain);
    const Ticks without_memory = bound;
    std::vector<MemoryRound> rounds;
    for (std::size_t d = 0; d < on.size(); ++d) {
      if (on[d].empty()) continue;
      const std::vector<Ticks> least = least_of_device(problem, on[d]);
      CHECK(work_of(problem)[d] == least[1]);
      bound = std::max(bound, least[0] + m * least[1] + least[2]);
      rate.tell(least[1], 1);
      if (problem.limits[d] > 1000) continue;
      if (const auto kept = stash_time_of(problem, on[d]); kept && *kept > 0) {
        stash_time =
            std::max(stash_time, least[0] + (m * *kept + problem.limits[d] - 1) / problem.limits[d] + least[2]);
        rate.tell(*kept, problem.limits[d]);
      }
      for (const MemoryRound& one : rounds_of_device(problem, on[d], problem.limits[d])) {
        rounds.push_back(one);
        const WorkBlock& takes = problem.block(one.takes);
        const Ticks last =
            before_start(problem, one.takes) + (m - 1) / one.apart * one.round + (m - 1) % one.apart * takes.time;
        bound = std::max(bound, last + takes.time + after_end(problem, one.takes));
        rate.tell(one.round, one.apart);
      }
    }
    const std::vector<MemoryRound> found = memory_rounds(problem);
    REQUIRE(found.size() == rounds.size());
    for (std::size_t k = 0; k < found.size(); ++k) {
      CHECK(std::tuple(found[k].takes, found[k].frees, found[k].apart, found[k].round) ==
            std::tuple(rounds[k].takes, rounds[k].frees, rounds[k].apart, rounds[k].round));
    }
    by_stash_time += stash_time > bound ? 1 : 0;
    bound = std::max(bound, stash_time);
    CHECK(least_makespan(problem, m) == bound);
    CHECK(rate.is(least_rate(problem)));
    by_memory += bound > without_memory ? 1 : 0;
  }
  CHECK(by_memory > 10);
  CHECK(by_stash_time > 3);
}

namespace {

/// Work of a kind: so much of it in all, `time` for every `stash` of memory; no stash: it needs none.
struct MeasuredWork {
  Ticks time = 0;
  std::int64_t stash = 0;
  Ticks all = 0;
};

/// The most work that fits into `room`, the best for its memory first; a part of a block counts as that part.
Ticks most_in(std::vector<MeasuredWork> items, std::int64_t room) {
  std::ranges::stable_sort(items, [](const MeasuredWork& a, const MeasuredWork& b) {
    return a.stash == 0 ? b.stash != 0 : b.stash != 0 && a.time * b.stash > b.time * a.stash;
  });
  Ticks sum = 0;
  for (const MeasuredWork& item : items) {
    if (item.stash == 0) {
      sum += item.all;
      continue;
    }
    const Ticks part = std::min(item.all, (item.time * room + item.stash - 1) / item.stash);
    sum += part;
    if (item.time > 0) room -= std::min(room, item.stash * part / item.time);
  }
  return sum;
}

/// Of what frees memory on a device, by stage: the most work for what a microbatch still keeps before it; without
/// limit where the passes of the stage do not follow each other.
MeasuredWork kept_for_rest(const BlockProblem& problem, const std::vector<std::int32_t>& rest, std::int64_t kept,
                           std::int64_t m) {
  Ticks left = 0;
  for (const std::int32_t b : rest) left += problem.block(b).time;
  const MeasuredWork free{0, 0, m * left};
  MeasuredWork best{-1, 1, m * left};
  for (std::size_t k = 0; k < rest.size(); ++k) {
    const auto& inputs = problem.block(rest[k]).inputs;
    const bool follows = k == 0 || std::ranges::any_of(inputs, [&](const WorkBlock::Input& input) {
                           return input.block == rest[k - 1];
                         });
    if (!follows || kept <= 0) return free;
    if (left * best.stash > best.time * kept) best = {left, kept, free.all};
    kept += problem.block(rest[k]).stash;
    left -= problem.block(rest[k]).time;
  }
  return best;
}

}  // namespace

TEST_CASE(
    "windows: what memory lets a device do before its first block that takes nothing, and behind its last that does") {
  std::mt19937 random(52);
  int before_counts = 0;
  int behind_counts = 0;
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    BlockProblem problem = drawn_problem(random, round % 3 > 0);
    for (std::int64_t& limit : problem.limits) limit = in_range(random, 3, 18);
    const std::int64_t m = in_range(random, 1, 8);
    const auto on = blocks_by_device(problem);
    Ticks bound = 0;
    for (std::size_t d = 0; d < on.size(); ++d) {
      constexpr Ticks kNone = std::numeric_limits<Ticks>::max();
      std::array<Ticks, 4> least{kNone, kNone, kNone,
                                 kNone};  // heads of all and of the rest, tails of all and of takers
      std::vector<MeasuredWork> takers;
      std::map<StageId, std::vector<std::int32_t>> rest;
      std::map<StageId, std::int64_t> taken;
      Ticks all = 0;
      Ticks of_takers = 0;
      for (const std::int32_t b : on[d]) {
        const WorkBlock& block = problem.block(b);
        const bool takes = block.stash > 0;
        least[0] = std::min(least[0], before_start(problem, b));
        least[2] = std::min(least[2], after_end(problem, b));
        Ticks& own = least[takes ? 3 : 1];
        own = std::min(own, takes ? after_end(problem, b) : before_start(problem, b));
        all += m * block.time;
        if (takes) takers.push_back({block.time, block.stash, m * block.time});
        if (takes) of_takers += m * block.time;
        if (takes) taken[block.action.stage] += block.stash;
        if (!takes) rest[block.action.stage].push_back(b);
      }
      if (least[1] == kNone || least[3] == kNone) continue;
      std::vector<MeasuredWork> others;
      for (const auto& [stage, blocks] : rest) others.push_back(kept_for_rest(problem, blocks, taken[stage], m));
      const Ticks before = most_in(takers, problem.limits[d]);
      const Ticks behind = most_in(others, problem.limits[d]);
      const std::array<Ticks, 3> found{least[1] + all - before + least[2], least[0] + all - behind + least[3],
                                       before < of_takers ? least[1] + all - before - behind + least[3] : 0};
      bound = std::max(bound, std::ranges::max(found));
      before_counts += found[0] == bound ? 1 : 0;
      behind_counts += found[2] == bound && found[2] > found[1] ? 1 : 0;
    }
    CHECK(least_by_windows(problem, m) == bound);
  }
  CHECK(before_counts > 20);
  CHECK(behind_counts > 5);
}

TEST_CASE("with pairs a device's work is half of the cheapest partners of all its passes, of all ways to choose them") {
  for (const char* times :
       {"F=2,B=3,F.comm=1,I.comm=1", "F=1,B=2,FB=2,FF=1.5,BB=3", "F=3,I=2,W=1,F.comm=2,I.comm=1", "F=1,B=2"}) {
    for (const bool split : {false, true}) {
      for (const double limit : {0.0, 2.0, 3.0}) {
        CAPTURE(times);
        CAPTURE(split);
        CAPTURE(limit);
        const StageCosts costs = abstract_costs(times, "", {.num_stages = 4});
        Schedule frame = looped_schedule("paired", {.num_devices = 2, .num_microbatches = 5}, 2, 1);
        place_in_v(frame);
        const BlockProblem given = schedule_blocks(frame, {.stages = costs, .memory_limit = limit, .split = split});
        BlockProblem problem = given;
        const PairedWork work = shorten_by_pairs(problem, costs);
        const auto on = blocks_by_device(given);
        bool saves = false;
        Ticks bound = 0;
        LargestRate rate;
        for (std::size_t d = 0; d < on.size(); ++d) {
          const auto cost = [&](std::int32_t a, std::int32_t b) {
            const WorkBlock& one = given.block(a);
            const WorkBlock& other = given.block(b);
            const Ticks pair = ticks_of_pair(costs, {one.action.stage, one.action.op, one.time},
                                             {other.action.stage, other.action.op, other.time});
            saves = saves || pair < one.time + other.time;
            return a == b ? std::min(pair, 2 * one.time) : pair;
          };
          std::vector<std::int32_t> partner = on[d];
          Ticks least = std::numeric_limits<Ticks>::max();
          do {
            Ticks sum = 0;
            for (std::size_t k = 0; k < partner.size(); ++k) sum += cost(on[d][k], partner[k]);
            least = std::min(least, sum);
          } while (std::next_permutation(partner.begin(), partner.end()));
          CHECK(work.twice_work[d] == least);
          rate.tell(least, 2);
          for (const std::int32_t b : on[d]) {
            Ticks shortest = given.block(b).time;
            for (const std::int32_t other : on[d]) shortest = std::min(shortest, cost(b, other));
            const auto at = static_cast<std::size_t>(b);
            CHECK(problem.block(b).time == shortest);
            CHECK(work.twice_each[at] == std::min(cost(b, b), 2 * shortest));
          }
        }
        CHECK(work.saves == saves);
        for (std::size_t d = 0; d < on.size(); ++d) {
          const std::vector<Ticks> ends = least_of_device(problem, on[d]);
          bound = std::max(bound, ends[0] + 5 * work.twice_work[d] / 2 + ends[2]);
          for (const std::int32_t b : on[d]) {
            const Ticks all = 5 * work.twice_each[static_cast<std::size_t>(b)] / 2;
            bound = std::max(bound,
                             before_start(problem, b) + std::max(problem.block(b).time, all) + after_end(problem, b));
          }
        }
        for (const MemoryRound& one : memory_rounds(problem)) {
          const std::int64_t left = std::max<std::int64_t>(0, 4 % one.apart - 1);
          const Ticks each = work.twice_each[static_cast<std::size_t>(one.takes)];
          const Ticks last = before_start(problem, one.takes) + 4 / one.apart * one.round + left * each / 2;
          bound = std::max(bound, last + problem.block(one.takes).time + after_end(problem, one.takes));
          rate.tell(one.round, one.apart);
        }
        CHECK(least_makespan_with_pairs(problem, work, 5) == bound);
        const OrderBounds bounds = order_bounds(given, costs, nullptr, 5);
        CHECK(bounds.with_pairs == saves);
        CHECK(bounds.makespan == (saves ? bound : least_makespan(given, 5)));
        if (saves) CHECK(rate.is(bounds.rate));
      }
    }
  }
}

TEST_CASE("blocks that cannot be are refused with their name and what was expected") {
  BlockProblem problem;
  problem.num_devices = 2;
  problem.limits = {3, 3};
  const auto refusal = [&] { return error_message([&] { check_blocks(problem, "here"); }); };
  CHECK(refusal() == "here: no blocks, expected at least one");
  problem.blocks.resize(2);
  problem.blocks[0] = {.name = "F", .devices = {0}, .time = 1, .stash = 3, .inputs = {}};
  problem.blocks[1] = {.name = "B", .devices = {0}, .time = 0, .stash = -3, .inputs = {{0, 0}}};
  CHECK(refusal().empty());
  problem.blocks[0].time = 0;
  CHECK(refusal() == "here: no block takes time, so that no order is better than another; expected times above 0");
  problem.blocks[1].time = 2;
  CHECK(refusal().empty());
  problem.blocks[0].devices = {2};
  CHECK(refusal() == "here: block F is on device 2, expected 0 to 1");
  problem.blocks[0].devices = {-1};
  CHECK(refusal() == "here: block F is on device -1, expected 0 to 1");
  problem.blocks[0].devices = {};
  CHECK(refusal() == "here: block F is on no device, expected one or more");
  problem.blocks[0].devices = {1};
  CHECK(refusal() == "here: the stashes of device 0 add up to -3, expected 0");
  problem.blocks[1].devices = {1};
  CHECK(refusal().empty());
  problem.limits[1] = 2;
  CHECK(refusal() == "here: one microbatch keeps 3 on device 1, expected at most its limit of 2");
  problem.limits[1] = 3;
  problem.blocks[1].inputs = {{1, 0}};
  CHECK(refusal() == "here: block B waits for one that does not stand before it");
  problem.blocks[1].inputs = {{-1, 0}};
  CHECK(refusal() == "here: block B waits for one that does not stand before it");
}

TEST_CASE("the grid of times is the largest number that divides all of them and all delays") {
  BlockProblem problem;
  problem.blocks = {{.name = "a", .devices = {0}, .time = 12, .inputs = {}},
                    {.name = "b", .devices = {0}, .time = 18, .inputs = {{0, 30}}}};
  CHECK(time_grid(problem) == 6);
  problem.blocks[1].inputs[0].delay = 33;
  CHECK(time_grid(problem) == 3);
  problem.blocks[0].time = problem.blocks[1].time = problem.blocks[1].inputs[0].delay = 0;
  CHECK(time_grid(problem) == 1);
  problem.blocks[1].devices = {1, 4};
  problem.blocks[1].stages = {StageId{7}, StageId{9}};
  CHECK(problem.blocks[1].stage_on(1) == StageId{7});
  CHECK(problem.blocks[1].stage_on(4) == StageId{9});
  problem.blocks[0].action.stage = StageId{3};
  CHECK(problem.blocks[0].stage_on(0) == StageId{3});
}

}  // namespace plumb::testing

TEST_SUITE_END();
