#pragma once

#include <algorithm>
#include <cstdint>

namespace plumb {

/// Reductions over a row in a fixed order: 16 partial results, which are then combined from first to last. So the
/// compiler may vectorise them without reordering.
inline constexpr std::int64_t kRowLanes = 16;

/// Sum of f(i) for i in [0, n).
template <class T, class F>
T row_sum(std::int64_t n, F f) {
  T lanes[kRowLanes] = {};
  std::int64_t i = 0;
  for (; i + kRowLanes <= n; i += kRowLanes) {
    for (std::int64_t lane = 0; lane < kRowLanes; ++lane) lanes[lane] += f(i + lane);
  }
  for (; i < n; ++i) lanes[i % kRowLanes] += f(i);
  T sum = 0;
  for (T lane : lanes) sum += lane;
  return sum;
}

/// Returns the largest of the `n` > 0 numbers.
template <class T>
T row_max(const T* row, std::int64_t n) {
  T lanes[kRowLanes];
  std::fill(lanes, lanes + kRowLanes, row[0]);
  std::int64_t i = 0;
  for (; i + kRowLanes <= n; i += kRowLanes) {
    for (std::int64_t lane = 0; lane < kRowLanes; ++lane) {
      lanes[lane] = row[i + lane] > lanes[lane] ? row[i + lane] : lanes[lane];
    }
  }
  T largest = *std::max_element(lanes, lanes + kRowLanes);
  for (; i < n; ++i) largest = std::max(largest, row[i]);
  return largest;
}

}  // namespace plumb
