#include "trainer/processes/clock_offset.hpp"

#include <algorithm>
#include <cassert>

namespace plumb {

std::int64_t clock_offset(std::span<const ClockSample> samples) {
  assert(!samples.empty());
  const auto least = [](const ClockSample& of) { return of.answered - of.received; };
  const auto most = [](const ClockSample& of) { return of.answered - of.asked; };
  std::int64_t low = least(samples.front());
  std::int64_t high = most(samples.front());
  for (const ClockSample& sample : samples) {
    low = std::max(low, least(sample));
    high = std::min(high, most(sample));
  }
  if (low <= high) return std::clamp<std::int64_t>(0, low, high);
  const ClockSample& best =
      *std::ranges::min_element(samples, {}, [](const ClockSample& sample) { return sample.received - sample.asked; });
  return least(best) + (most(best) - least(best)) / 2;
}

}  // namespace plumb
