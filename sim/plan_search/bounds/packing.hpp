#pragma once

#include <algorithm>
#include <limits>
#include <span>

#include "models/ground/units.hpp"

namespace plumb {

/// Of all ways to put `loads` into bins, each of which takes `rates` a tick and `at_once` from the beginning: the least
/// time after which all can be done, or less. Loads are seen as many equal ones and a few others (which are tried in
/// all ways where bins are alike), or, where there are many others, as those that are at least so large.
Ticks packed_time(std::span<const Ticks> loads, std::span<const double> rates, double at_once = 0);

/// A number from `low` on, as large as can be found, that is known not to be possible; `low` is not, or is 0. At most
/// `enough`, where nothing larger is asked.
template <class Possible>
Ticks least_possible(Ticks low, Ticks enough, Possible&& possible) {
  const bool limited = enough != std::numeric_limits<Ticks>::max();
  if (limited && (enough <= low || !possible(enough))) return std::max(low, enough);
  Ticks high = limited ? enough : low + low / 4 + 1;
  while (!limited && !possible(high)) {
    low = high;
    high *= 2;
  }
  while (high - low > 1 + high / 1'000'000) {
    const Ticks middle = low + (high - low) / 2;
    (possible(middle) ? high : low) = middle;
  }
  return low;
}

}  // namespace plumb
