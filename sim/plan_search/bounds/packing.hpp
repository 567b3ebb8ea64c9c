#pragma once

#include <algorithm>
#include <limits>
#include <span>

#include "models/ground/units.hpp"

namespace plumb {

/// Returns a time after which `loads` cannot all be done by bins, whatever bin each is put into; 0: none is known.
///
/// Bin b has room for c_b(t) = `rates`[b] t + `at_once` at time t. A time t is not enough if one of these holds:
///
/// 1. *Sum.* All c_b together are less than all loads.
/// 2. *Slots.* For some load l, the floors of c_b / l add up to fewer than there are loads of at least l. A bin takes
///    no more of these than its floor.
/// 3. *All ways.* Bins are alike, all loads but a few are equal, and no way to put these few into bins leaves slots for
///    all equal ones.
///
/// Since c_b grows with t, what is not enough at t is not enough before. So bisection finds the last such time.
Ticks packed_time(std::span<const Ticks> loads, std::span<const double> rates, double at_once = 0);

/// Finds, up to a millionth, the largest number from `low` on that is not `possible`; every larger one must be. `low`
/// is not possible, or 0. Stops at `enough`, where a caller needs no larger one.
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
