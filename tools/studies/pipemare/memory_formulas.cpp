#include "tools/studies/pipemare/memory_formulas.hpp"

#include <algorithm>
#include <numeric>

namespace plumb {
namespace {

/// Microbatches between forward and backward of stage `i`.
std::int64_t distance(std::int64_t stages, std::int64_t i) { return 2 * (stages - 1 - i) + 1; }

template <class Value>
double weighted(std::span<const std::int64_t> parameters, Value value) {
  double sum = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::int64_t of = distance(static_cast<std::int64_t>(parameters.size()), static_cast<std::int64_t>(i));
    sum += static_cast<double>(parameters[i]) * value(of);
  }
  return sum / static_cast<double>(std::accumulate(parameters.begin(), parameters.end(), std::int64_t{0}));
}

}  // namespace

double utilization_gain(std::int64_t stages, std::int64_t microbatches) {
  return static_cast<double>(microbatches + stages - 1) / static_cast<double>(microbatches);
}

double amortised_gain(std::int64_t stages, std::int64_t microbatches, double synchronous_share) {
  const double gpipe = 1 / utilization_gain(stages, microbatches);
  return 1 / (synchronous_share + (1 - synchronous_share) * gpipe);
}

double weighted_delay(std::span<const std::int64_t> parameters, std::int64_t microbatches) {
  const auto n = static_cast<double>(microbatches);
  return weighted(parameters, [n](std::int64_t of) { return static_cast<double>(of) / n; });
}

double weighted_versions(std::span<const std::int64_t> parameters, std::int64_t microbatches) {
  return weighted(parameters, [microbatches](std::int64_t of) {
    return static_cast<double>((of + microbatches - 1) / microbatches);
  });
}

double pipedream_memory(double weighted_delay, double copies) { return (copies - 1 + weighted_delay) / copies; }

std::int64_t stashed_activations(std::int64_t stages) { return stages * stages; }

std::int64_t recomputed_activations(std::int64_t stages, std::int64_t segment) {
  std::int64_t sum = 0;
  for (std::int64_t begin = 0; begin < stages; begin += segment) {
    const std::int64_t length = std::min(segment, stages - begin);
    sum += distance(stages, begin);
    if (length > 1) sum += stashed_activations(length);
  }
  return sum;
}

std::int64_t best_segment(std::int64_t stages) {
  std::int64_t best = 1;
  for (std::int64_t segment = 2; segment <= stages; ++segment) {
    if (recomputed_activations(stages, segment) < recomputed_activations(stages, best)) best = segment;
  }
  return best;
}

}  // namespace plumb
