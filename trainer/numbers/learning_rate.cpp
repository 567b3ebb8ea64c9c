#include "trainer/numbers/learning_rate.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

namespace plumb {

namespace {

double cosine(const LearningRateOptions& options, std::int64_t update) {
  const double length = static_cast<double>(std::max<std::int64_t>(1, options.total - options.warmup));
  const double progress = std::min(1.0, static_cast<double>(update - options.warmup) / length);
  const double wave = 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
  return options.base * (options.floor + (1.0 - options.floor) * wave);
}

}  // namespace

double learning_rate(const LearningRateOptions& options, std::int64_t update) {
  assert(update >= 0);
  if (update < options.warmup) {
    return options.base * static_cast<double>(update + 1) / static_cast<double>(options.warmup);
  }
  switch (options.kind) {
    case LearningRateKind::kConstant:
      return options.base;
    case LearningRateKind::kCosine:
      return cosine(options, update);
    case LearningRateKind::kInverseSqrt:
      return options.base * std::sqrt(static_cast<double>(std::max<std::int64_t>(1, options.warmup)) /
                                      static_cast<double>(update + 1));
    case LearningRateKind::kStep:
      return options.base * std::pow(options.factor, static_cast<double>((update - options.warmup) / options.every));
  }
  assert(false && "unknown learning-rate schedule");
  return options.base;
}

}  // namespace plumb
