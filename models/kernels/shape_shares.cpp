#include "models/kernels/shape_shares.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>

namespace plumb {
namespace {

/// Points within a few per cent of a shape count as measured there.
constexpr double kSameShape = 0.02;
/// From this many doublings on, the model counts more than a point.
constexpr double kReach = 2;

double apart(std::initializer_list<std::pair<std::int64_t, std::int64_t>> sizes) {
  double squares = 0;
  for (const auto& [a, b] : sizes) {
    const double steps = std::log2(static_cast<double>(a) / static_cast<double>(b));
    squares += steps * steps;
  }
  return std::sqrt(squares);
}

}  // namespace

double table_factor(std::span<const Deviation> deviations) {
  double sum = 0;
  double weights = 1 / (kReach * kReach);  // of the model, whose logarithm is 0
  for (const Deviation& one : deviations) {
    const double weight = 1 / (one.distance * one.distance + kSameShape * kSameShape * kSameShape);
    sum += weight * one.log_ratio;
    weights += weight;
  }
  return std::exp(sum / weights);
}

double doublings_apart(const ProductShape& a, const ProductShape& b) {
  return apart({{a.m, b.m},
                {a.n, b.n},
                {a.k, b.k},
                {a.count, b.count},
                {std::max<std::int64_t>(1, a.accumulated), std::max<std::int64_t>(1, b.accumulated)}});
}

double doublings_apart(const AttentionShape& a, const AttentionShape& b) {
  return apart({{a.rows, b.rows},
                {a.columns, b.columns},
                {a.heads, b.heads},
                {a.key_width, b.key_width},
                {a.value_width, b.value_width}});
}

}  // namespace plumb
