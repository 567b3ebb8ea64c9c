#pragma once

#include <cstdint>
#include <vector>

#include "sim/timeline/timeline.hpp"

namespace plumb {

/// A number with its 95 % percentile interval.
struct Estimate {
  double value = 0;
  double low = 0;
  double high = 0;

  friend bool operator==(const Estimate&, const Estimate&) = default;
};

/// Returns the mean of the middle two where their number is even; 0 of nothing.
double median_of(std::vector<double> values);

/// `value` with the interval of its bootstrap draws; without any the value itself.
Estimate with_interval(double value, std::vector<double> draws);

/// Median of `values` with its bootstrap interval: `resamples` draws with replacement, from `seed`.
Estimate median_estimate(const std::vector<double>& values, std::int64_t resamples = 1000, std::uint64_t seed = 0);

/// Returns the nanoseconds from the last end of each update to that of the next one. Empty without spans of updates.
std::vector<double> step_times_ns(const Timeline& timeline);

/// Returns the nanoseconds of an update of `run` by the definition that gave the prediction's step time: of
/// asynchronous runs between the same updates of the same device, where both have them. Otherwise the run's own step
/// time.
double step_as_predicted(const Timeline& predicted, const Timeline& run);

}  // namespace plumb
