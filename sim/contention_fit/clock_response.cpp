#include "sim/contention_fit/clock_response.hpp"

#include <algorithm>
#include <cmath>

namespace plumb {

std::vector<double> clock_response(std::span<const LoadStep> steps, const ClockShape& shape) {
  std::vector<double> response;
  response.reserve(steps.size());
  double now = 0;
  for (const LoadStep& step : steps) {
    const double target = std::clamp((step.active - shape.least) / (shape.most - shape.least), 0.0, 1.0);
    const double left = std::exp(-step.ns / shape.lag_ns);
    response.push_back(target + (now - target) * (1 - left) * shape.lag_ns / step.ns);
    now = target + (now - target) * left;
  }
  return response;
}

}  // namespace plumb
