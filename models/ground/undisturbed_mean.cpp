#include "models/ground/undisturbed_mean.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace plumb {

bool is_disturbance(std::int64_t time, std::int64_t median) {
  constexpr std::int64_t kMostMedians = 4;
  return time / kMostMedians > median;
}

std::int64_t undisturbed_mean(std::span<const std::int64_t> sorted, std::int64_t median) {
  const auto kept_end = std::ranges::find_if(sorted, [&](std::int64_t time) { return is_disturbance(time, median); });
  const auto kept = kept_end - sorted.begin();
  if (kept == 0) return 0;
  return std::llround(std::accumulate(sorted.begin(), kept_end, 0.0) / static_cast<double>(kept));
}

}  // namespace plumb
