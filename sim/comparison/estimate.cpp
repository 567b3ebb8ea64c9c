#include "sim/comparison/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
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

namespace {

/// Returns the last end of every update by its number, on `device` or on all.
std::map<std::int64_t, Ticks> ends_of_updates(const Timeline& timeline, std::optional<DeviceId> device = {}) {
  std::map<std::int64_t, Ticks> ends;
  for (const Span& span : timeline.spans) {
    if (span.lane != Lane::kCompute || span.action.op != Op::kU || (device && span.device != *device)) continue;
    Ticks& end = ends[static_cast<std::int64_t>(span.action.microbatch)];
    end = std::max(end, span.end);
  }
  return ends;
}

}  // namespace

double step_as_predicted(const Timeline& predicted, const Timeline& run) {
  const auto per_ns = static_cast<double>(run.base.ticks_per_ns);
  const double own = static_cast<double>(run.step_time) / per_ns;
  if (!predicted.asynchronous || !run.asynchronous) return own;
  if (!predicted.steady) return static_cast<double>(run.makespan) / per_ns / static_cast<double>(run.updates);
  if (!predicted.steady_updates) return own;
  const SteadyUpdates& steady = *predicted.steady_updates;
  std::vector<Ticks> ends;
  for (const auto& [number, end] : ends_of_updates(run, steady.device)) ends.push_back(end);
  if (steady.last >= std::ssize(ends)) return own;
  std::ranges::sort(ends);
  const Ticks time = ends[static_cast<std::size_t>(steady.last)] - ends[static_cast<std::size_t>(steady.first)];
  const auto updates = static_cast<double>((steady.last - steady.first) * run.updates);
  return static_cast<double>(time) / per_ns * static_cast<double>(ends.size()) / updates;
}

std::vector<double> step_times_ns(const Timeline& timeline) {
  const std::map<std::int64_t, Ticks> ends = ends_of_updates(timeline);
  std::vector<double> steps;
  for (auto at = ends.begin(); at != ends.end() && std::next(at) != ends.end(); ++at) {
    steps.push_back(static_cast<double>(std::next(at)->second - at->second) /
                    static_cast<double>(timeline.base.ticks_per_ns));
  }
  return steps;
}

}  // namespace plumb
