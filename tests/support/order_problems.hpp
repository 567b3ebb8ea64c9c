#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "schedules/catalogue/searched/order_timer.hpp"

namespace plumb::testing {

/// Stages with equal passes; F keeps 2, I and W free 1 each.
inline PassCosts equal_stages(std::size_t stages, std::array<Ticks, 3> times, Ticks comm) {
  PassCosts costs;
  costs.stages.assign(stages, {.f = {times[0], 2}, .i = {times[1], -1}, .w = {times[2], -1}});
  costs.comm = comm;
  return costs;
}

/// A straight pipeline of them with the same limit everywhere.
inline OrderProblem straight_of(std::int32_t devices, std::int32_t microbatches, std::array<Ticks, 3> times, Ticks comm,
                                std::int64_t limit) {
  const std::vector<std::int64_t> limits(static_cast<std::size_t>(devices), limit);
  return straight_problem(equal_stages(limits.size(), times, comm), limits, microbatches);
}

/// A V of them (two stages per device) with the same limit everywhere.
inline OrderProblem v_of(std::int32_t devices, std::int32_t microbatches, std::array<Ticks, 3> times, Ticks comm,
                         std::int64_t limit) {
  PassCosts costs = equal_stages(2 * static_cast<std::size_t>(devices), times, comm);
  costs.limit = limit;
  return v_problem(costs, microbatches);
}

/// Numbers that are the same everywhere.
class Numbers {
 public:
  /// In [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return low + static_cast<std::int64_t>((state_ >> 33U) % static_cast<std::uint64_t>(high - low + 1));
  }

 private:
  std::uint64_t state_ = 2401;
};

/// A random small problem: straight on 1 to 3 devices, or a V on 1 or 2, with equal or unequal stages.
inline OrderProblem small_problem(Numbers& numbers, bool v) {
  constexpr std::array<std::array<std::int64_t, 3>, 4> kStashes{{{2, -1, -1}, {1, 0, -1}, {3, 1, -4}, {5, -2, -3}}};
  const std::int64_t p = numbers.between(1, v ? 2 : 3);
  const std::int64_t m = v ? 3 - p : numbers.between(2, p == 1 ? 4 : p == 2 ? 3 : 2);
  const auto& stash = kStashes[static_cast<std::size_t>(numbers.between(0, 3))];
  const bool equal = numbers.between(0, 1) == 1;
  PassCosts costs;
  for (std::int64_t s = 0; s < (v ? 2 : 1) * p; ++s) {
    StagePasses stage{.f = {numbers.between(1, 9), stash[0]},
                      .i = {numbers.between(1, 9), stash[1]},
                      .w = {numbers.between(0, 9), stash[2]}};
    costs.stages.push_back(equal && s > 0 ? costs.stages.front() : stage);
  }
  costs.comm = numbers.between(0, 2);
  const std::int64_t one = (v ? 2 : 1) * std::max(stash[0], stash[0] + stash[1]);
  costs.limit = numbers.between(one, one * (m + 1));
  const std::vector<std::int64_t> limits(static_cast<std::size_t>(p), costs.limit);
  return v ? v_problem(costs, static_cast<std::int32_t>(m))
           : straight_problem(costs, limits, static_cast<std::int32_t>(m));
}

/// All words of a device that keep its limit and its own order.
inline std::vector<OrderWord> all_words(const OrderProblem& problem, std::int32_t device) {
  OrderWord word;
  for (std::int32_t kind = 0; kind < problem.kinds; ++kind) {
    word.insert(word.end(), static_cast<std::size_t>(problem.num_microbatches), static_cast<std::uint8_t>(kind));
  }
  const auto keeps_rules = [&] {
    std::array<std::int32_t, OrderProblem::kMostKinds> counts{};
    std::int64_t stash = 0;
    for (const std::uint8_t kind : word) {
      const OrderProblem::Pass& pass = problem.pass(device, kind);
      stash += pass.stash;
      if (pass.stash > 0 && stash > problem.limit(device)) return false;
      if (pass.device == device && counts[static_cast<std::size_t>(pass.kind)] <= counts[kind]) return false;
      ++counts[kind];
    }
    return true;
  };
  std::vector<OrderWord> words;
  do {
    if (keeps_rules()) words.push_back(word);
  } while (std::next_permutation(word.begin(), word.end()));
  return words;
}

/// The shortest longest device span of all combinations of words; 0 when there are more than `most` of them.
inline Ticks shortest_span_of_all(const OrderProblem& problem, std::int64_t most) {
  std::vector<std::vector<OrderWord>> choices;
  std::int64_t combinations = 1;
  for (std::int32_t d = 0; d < problem.num_devices; ++d) {
    choices.push_back(all_words(problem, d));
    combinations *= static_cast<std::int64_t>(choices.back().size());
    if (combinations > most) return 0;
  }
  OrderTimer timer(problem);
  Ticks best = std::numeric_limits<Ticks>::max();
  std::vector<OrderWord> words(choices.size());
  const std::function<void(std::size_t)> choose = [&](std::size_t d) {
    if (d == words.size()) {
      if (timer.run(words)) best = std::min(best, timer.longest_device_span());
      return;
    }
    for (const OrderWord& word : choices[d]) {
      words[d] = word;
      choose(d + 1);
    }
  };
  choose(0);
  return best;
}

}  // namespace plumb::testing
