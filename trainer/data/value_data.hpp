#pragma once

#include <cstdint>
#include <vector>

#include "trainer/data/training_data.hpp"

namespace plumb {

/// Real numbers to be predicted from real numbers, row by row: microbatch k takes the rows that follow those of
/// microbatch k - 1, in order, and from the first row again after the last. Nothing is random, and nothing is held out.
class ValueData final : public TrainingData {
 public:
  /// `features` values and `target_features` target values per row. Throws Error unless both make the same number of
  /// whole rows, at least one.
  ValueData(std::vector<double> values, std::int64_t features, std::vector<double> target_values,
            std::int64_t target_features);

  DataFacts facts() const override;
  Microbatch microbatch(std::int64_t k, const MicrobatchShape& shape, std::uint64_t seed) const override;
  std::int64_t held_out_samples(std::int64_t) const override { return 0; }
  Microbatch held_out(std::int64_t first, const MicrobatchShape& shape) const override;

 private:
  std::vector<double> values_;
  std::vector<double> target_values_;
  std::int64_t features_;
  std::int64_t target_features_;
};

}  // namespace plumb
