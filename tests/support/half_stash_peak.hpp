#pragma once

#include <algorithm>
#include <cstdint>

#include "schedules/document/schedule.hpp"

namespace plumb::testing {

/// Largest number of halves of a stash on any device: F keeps two, I and W free one each.
inline std::int64_t half_stash_peak(const Schedule& schedule) {
  std::int64_t peak = 0;
  for (const DeviceList& list : schedule.devices) {
    std::int64_t now = 0;
    for (const Action& action : expand(list)) {
      now += action.op == Op::kF ? 2 : action.op == Op::kI || action.op == Op::kW ? -1 : 0;
      peak = std::max(peak, now);
    }
  }
  return peak;
}

}  // namespace plumb::testing
