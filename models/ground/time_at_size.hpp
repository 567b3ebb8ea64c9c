#pragma once

#include <cstdint>
#include <span>
#include <utility>

namespace plumb {

/// A time that was measured with messages of one size.
struct TimeOfSize {
  std::int64_t bytes = 0;
  std::int64_t ns = 0;
};

/// Returns the two of `points` (by ascending `bytes`, at least one) whose line tells of messages of `bytes`: its
/// neighbours, the last two for larger ones, the first one twice for smaller ones and where there is only one.
template <class Point>
std::pair<const Point*, const Point*> around_size(std::span<const Point> points, std::int64_t bytes) {
  std::size_t high = 0;
  while (high + 1 < points.size() && points[high].bytes < bytes) ++high;
  const bool below = high == 0;
  return {&points[below ? 0 : high - 1], &points[high]};
}

/// Returns the time for `bytes` on the line through two points, in ns, nearest (halves up), from 0 to 2^53: between
/// them linear, behind them a latency and a rate. `low` itself where both have one size.
std::int64_t time_at_size(TimeOfSize low, TimeOfSize high, std::int64_t bytes);

}  // namespace plumb
