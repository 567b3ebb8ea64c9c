#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/dnn/graph_on_cpu.hpp"

namespace plumb::cuda {

using Values = std::vector<double>;

/// Numbers of bf16 between -1 and 1.
inline Values numbers(std::int64_t count, std::uint64_t seed) {
  Values values(static_cast<std::size_t>(count));
  for (double& value : values) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    value = rounded_to_bf16(static_cast<double>(seed >> 40U) / 8388608.0 - 1);
  }
  return values;
}

/// |a - b| / |b|, both as vectors; large where a number is none.
inline double apart(const Values& a, const Values& b) {
  double difference = 0;
  double whole = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    whole += b[i] * b[i];
  }
  const double relative = std::sqrt(difference / whole);
  return std::isnan(relative) ? 1e9 : relative;
}

}  // namespace plumb::cuda
