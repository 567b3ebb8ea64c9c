#pragma once

#include <span>
#include <vector>

#include "sim/contention_fit/overlap.hpp"

namespace plumb {

/// How a node's clock follows its load, which is the number of devices that compute. How far it falls is not said here.
struct ClockShape {
  double least = 1;  ///< up to this load the clock is at full speed
  double most = 2;   ///< from this load on it is lowest; between `least` and `most` its target is linear; above `least`
  double lag_ns = 0;  ///< time constant: the clock closes 1 - 1/e of the gap to its target in this time

  friend bool operator==(const ClockShape&, const ClockShape&) = default;
};

/// Returns how far the clock has fallen during each step of a run that begins at full speed: the mean over the step, as
/// a share of the whole fall (0: full speed, 1: lowest). The clock approaches its target exponentially.
std::vector<double> clock_response(std::span<const LoadStep> steps, const ClockShape& shape);

}  // namespace plumb
