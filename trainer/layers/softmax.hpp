#pragma once

#include <cmath>
#include <cstdint>

#include "trainer/layers/exponential.hpp"
#include "trainer/numbers/row.hpp"

namespace plumb {

/// Replaces the `n` scores of a row by their softmax. Returns the logarithm of the sum of their exponentials.
template <class T>
T softmax_row(T* row, std::int64_t n) {
  const T max = row_max(row, n);
  for (std::int64_t j = 0; j < n; ++j) row[j] = exponential(row[j] - max);
  const T sum = row_sum<T>(n, [row](std::int64_t j) { return row[j]; });
  const T scale = T(1) / sum;
  for (std::int64_t j = 0; j < n; ++j) row[j] *= scale;
  return max + std::log(sum);
}

}  // namespace plumb
