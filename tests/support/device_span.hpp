#pragma once

#include <algorithm>
#include <cstdint>

#include "schedules/document/schedule.hpp"
#include "tests/support/replay.hpp"

namespace plumb::testing {

/// Longest time from a device's first to its last action.
inline std::int64_t longest_device_span(const Schedule& schedule, const UnitTimes& times) {
  std::int64_t longest = 0;
  for (const auto& placed : replay(schedule, times).devices) {
    longest = std::max(longest, placed.back().end - placed.front().start);
  }
  return longest;
}

/// Largest number of stashes on any device.
inline std::int64_t largest_peak(const Schedule& schedule) {
  const auto peaks = peak_stashes(schedule);
  return *std::max_element(peaks.begin(), peaks.end());
}

/// The equal passes of the zero-bubble papers.
inline constexpr UnitTimes kEqualPasses{.f = 1, .b = 2, .i = 1, .w = 1};

}  // namespace plumb::testing
