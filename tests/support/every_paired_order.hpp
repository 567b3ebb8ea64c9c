#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "schedules/catalogue/generator.hpp"
#include "sim/simulate.hpp"

namespace plumb::testing {

/// A list with every set of neighbours of different microbatches as pairs.
inline void add_with_pairs(const std::vector<Action>& list, std::vector<std::vector<Action>>& lists) {
  for (unsigned pairs = 0; pairs < (1U << (list.size() - 1)); ++pairs) {
    if ((pairs & (pairs << 1)) != 0) continue;  // nothing is in two pairs
    std::vector<Action> paired = list;
    bool possible = true;
    for (std::size_t at = 0; at + 1 < paired.size(); ++at) {
      if (((pairs >> at) & 1U) == 0) continue;
      paired[at].overlaps_next = 1;
      possible = possible && paired[at].microbatch != paired[at + 1].microbatch;
    }
    if (possible) lists.push_back(std::move(paired));
  }
}

/// All lists of a device of a straight pipeline with microbatches in turn: every order of its passes (F and B, or F, I
/// and W), each with every set of neighbours as pairs.
inline std::vector<std::vector<Action>> lists_with_pairs(std::int32_t stage, std::int32_t m, bool split) {
  const std::vector<Op> ops = split ? std::vector{Op::kF, Op::kI, Op::kW} : std::vector{Op::kF, Op::kB};
  std::vector<std::size_t> kinds;
  for (std::size_t kind = 0; kind < ops.size(); ++kind) kinds.insert(kinds.end(), static_cast<std::size_t>(m), kind);
  std::vector<std::vector<Action>> lists;
  do {
    std::vector<std::int32_t> done(ops.size(), 0);
    std::vector<Action> list;
    bool in_order = true;
    for (const std::size_t kind : kinds) {
      list.push_back(action_of(stage, ops[kind], done[kind]++));
      in_order = in_order && (kind == 0 || done[kind] <= done[kind - 1]);
    }
    if (in_order) add_with_pairs(list, lists);
  } while (std::next_permutation(kinds.begin(), kinds.end()));
  return lists;
}

struct BestPaired {
  Ticks makespan = std::numeric_limits<Ticks>::max();
  std::int64_t ran = 0;
};

/// The shortest of all orders of two stages in which every device keeps at most `limit` stashes; 0: any number.
inline BestPaired shortest_with_pairs(std::int32_t m, const StageCosts& costs, double limit, bool split = false) {
  Schedule schedule = looped_schedule("paired", {.num_devices = 2, .num_microbatches = m}, 1, 1);
  schedule.devices.resize(2);
  BestPaired best;
  SimOptions options{.spans = false, .memory_curve = false, .idle_causes = false, .critical_path = false};
  for (const auto& first : lists_with_pairs(0, m, split)) {
    for (const auto& second : lists_with_pairs(1, m, split)) {
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

}  // namespace plumb::testing
