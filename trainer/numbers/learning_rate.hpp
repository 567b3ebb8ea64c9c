#pragma once

#include <cstdint>

namespace plumb {

enum class LearningRateKind : std::uint8_t { kConstant, kCosine, kInverseSqrt, kStep };

/// Learning rate by update. A linear warm-up comes first: base * (update + 1) / warmup.
///
///     constant      base
///     cosine        from base to base * floor at `total` (half a cosine), then base * floor
///     inverse sqrt  base * sqrt(warmup / (update + 1)), with a warm-up of at least 1
///     step          base * factor^(number of whole `every` since the warm-up)
struct LearningRateOptions {
  LearningRateKind kind = LearningRateKind::kConstant;
  double base = 1e-3;
  std::int64_t warmup = 0;  ///< updates
  std::int64_t total = 0;   ///< cosine: updates of the whole run
  double floor = 0.1;       ///< cosine: part of the base that remains
  std::int64_t every = 1;   ///< step: updates between reductions
  double factor = 0.1;      ///< step: of each reduction

  friend bool operator==(const LearningRateOptions&, const LearningRateOptions&) = default;
};

/// Returns the rate of the update that follows `update` others.
double learning_rate(const LearningRateOptions& options, std::int64_t update);

}  // namespace plumb
