#pragma once

#include <span>
#include <vector>

#include "sim/contention_fit/company.hpp"

namespace plumb {

/// How a clock follows the load of a node, apart from how far it falls. The load is the number of devices that compute.
struct ClockShape {
  double least = 1;   ///< up to this load it stays at full speed
  double most = 2;    ///< from this load on it is lowest; linear between; above `least`
  double lag_ns = 0;  ///< in which 63 % of a difference are made up for

  friend bool operator==(const ClockShape&, const ClockShape&) = default;
};

/// The share of its fall that the clock has fallen by, as mean of every step of a run that begins at full clock.
std::vector<double> clock_course(std::span<const LoadStep> steps, const ClockShape& shape);

}  // namespace plumb
