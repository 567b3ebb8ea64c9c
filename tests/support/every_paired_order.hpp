#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "models/ground/error.hpp"
#include "schedules/catalogue/generator.hpp"
#include "sim/simulate.hpp"

namespace plumb::testing {

/// All lists of a device of a straight pipeline, with whole backwards and microbatches in turn: every order of its
/// forwards and backwards, each with every set of neighbours as pairs.
inline std::vector<std::vector<Action>> lists_with_pairs(std::int32_t stage, std::int32_t m) {
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
inline BestPaired shortest_with_pairs(std::int32_t m, const StageCosts& costs, double limit) {
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

}  // namespace plumb::testing
