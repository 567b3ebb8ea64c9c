#pragma once

#include <cstdint>
#include <string>

#include "models/ground/error.hpp"
#include "models/ground/units.hpp"

namespace plumb {

/// Work done at a rate that changes now and then, counted exactly: `left` is in units of rate x ticks.
struct WorkProgress {
  __extension__ using Wide = unsigned __int128;

  Wide left = 0;  ///< at `since`
  Ticks since = 0;
  std::int64_t rate = 0;  ///< per tick; 0: paused

  /// Takes off what has been done until `now`, goes on at `next` (above 0) and returns when all will be done: the tick
  /// nearest to its end, halves up. Throws `Error` when the clock cannot count that far.
  Ticks go_on(std::int64_t next, Ticks now, const char* what) {
    const Wide done = static_cast<Wide>(rate) * static_cast<Wide>(now - since);
    left = done < left ? left - done : 0;
    since = now;
    rate = next;
    const Wide twice = 2 * left + static_cast<Wide>(rate);
    const auto divisor = 2 * static_cast<std::uint64_t>(rate);
    const Wide ticks = twice >> 64U == 0 ? static_cast<std::uint64_t>(twice) / divisor : twice / divisor;
    if (ticks >> 62U != 0) throw Error(std::string(what) + " takes longer than the clock can count");
    return now + static_cast<Ticks>(ticks);
  }
};

}  // namespace plumb
