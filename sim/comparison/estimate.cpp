#include "sim/comparison/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <random>
#include <utility>

namespace plumb {

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 != 0) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

Estimate with_interval(double value, std::vector<double> draws) {
  constexpr double kTail = 0.025;
  if (draws.empty()) return {value, value, value};
  std::ranges::sort(draws);
  const auto at = [&](double share) {
    return draws[static_cast<std::size_t>(std::llround(share * static_cast<double>(draws.size() - 1)))];
  };
  return {value, at(kTail), at(1 - kTail)};
}

Estimate median_estimate(const std::vector<double>& values, std::int64_t resamples, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> draws;
  std::vector<double> drawn(values.size());
  for (std::int64_t k = 0; k < resamples && !values.empty(); ++k) {
    for (double& value : drawn) value = values[random() % values.size()];
    draws.push_back(median_of(drawn));
  }
  return with_interval(median_of(values), std::move(draws));
}

std::vector<double> step_times_ns(const Timeline& timeline) {
  std::map<std::int64_t, Ticks> ends;
  for (const Span& span : timeline.spans) {
    if (span.lane != Lane::kCompute || span.action.op != Op::kU) continue;
    Ticks& end = ends[static_cast<std::int64_t>(span.action.microbatch)];
    end = std::max(end, span.end);
  }
  std::vector<double> steps;
  for (auto at = ends.begin(); at != ends.end() && std::next(at) != ends.end(); ++at) {
    steps.push_back(static_cast<double>(std::next(at)->second - at->second) /
                    static_cast<double>(timeline.base.ticks_per_ns));
  }
  return steps;
}

}  // namespace plumb
