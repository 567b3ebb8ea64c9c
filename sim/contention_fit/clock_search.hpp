#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/contention_fit/contention_curves.hpp"
#include "sim/contention_fit/contention_data.hpp"
#include "sim/contention_fit/contention_fit.hpp"

namespace plumb {

/// The clock that explains best what curves and slowdowns by communication do not.
struct ClockFound {
  std::optional<ClockShape> shape;  ///< nothing where no clock can be told
  bool clear = false;               ///< it explains more than chance does; otherwise the largest fall that may hide
  Estimate lag_ns;                  ///< where it is clear
  Estimate fall;                    ///< with the lags of the interval
  std::string unknown;              ///< why there is none
};

/// Looks through loads from which the clock falls, and through lags from a part of an action to the longest
/// run, at those only which the other unknowns cannot stand for. `curves`: without a clock; `actions`: those of `data`
/// that count; `values`: the fit without a clock. Leaves `data` following the clock that is found.
ClockFound search_clock(ContentionData& data, const ContentionCurves& curves, const std::vector<std::size_t>& actions,
                        std::span<const double> values, const ContentionFitOptions& options);

}  // namespace plumb
