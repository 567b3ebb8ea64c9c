#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/contention_fit/contention_curves.hpp"
#include "sim/contention_fit/contention_data.hpp"
#include "sim/contention_fit/contention_fit.hpp"

namespace plumb {

/// The clock that best explains what curves and slowdowns by communication do not.
struct ClockFound {
  std::optional<ClockShape> shape;  ///< empty where the runs determine no clock
  bool clear = false;   ///< it explains more than chance would; otherwise this is the largest fall that the runs allow
  Estimate lag_ns;      ///< only where `clear`
  Estimate fall;        ///< with the lags of the interval
  std::string unknown;  ///< why there is none
};

/// Tries loads from which the clock falls, and time constants from a fraction of an action to the longest run, but only
/// those that the other unknowns cannot explain. `curves` and `values` are the fit without a clock; `actions` are those
/// of `data` that count. Leaves `data` following the clock that is found.
ClockFound search_clock(ContentionData& data, const ContentionCurves& curves, const std::vector<std::size_t>& actions,
                        std::span<const double> values, const ContentionFitOptions& options);

}  // namespace plumb
