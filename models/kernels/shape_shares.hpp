#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "models/kernels/matrix_format.hpp"

namespace plumb {

/// Which product of a linear layer y = x W, and which pass of attention.
enum class ProductPass : std::uint8_t {
  kForward,     ///< y = x W (operands "TN" in BLAS's order)
  kInputGrad,   ///< dx = dy W^T ("NN"); the backward of attention
  kWeightGrad,  ///< dW += dy^T x ("NT"), added where the product is made
};

inline constexpr std::size_t kProductPassCount = 3;
inline constexpr std::array<std::string_view, kProductPassCount> kProductPassNames{"forward", "input_grad",
                                                                                   "weight_grad"};

/// `count` products of `m` x `k` by `k` x `n` in one launch.
struct ProductShape {
  std::int64_t m = 1;
  std::int64_t n = 1;
  std::int64_t k = 1;
  std::int64_t count = 1;
  ProductPass pass = ProductPass::kForward;
  MatrixFormat format = MatrixFormat::kBf16;
  std::int64_t accumulated = 0;  ///< bytes of each number that the result is added to; 0: stored in 16 bits
  bool odd_rows = false;         ///< the rows of an operand hold an odd number of 16-bit numbers

  friend bool operator==(const ProductShape&, const ProductShape&) = default;
};

/// One fused attention: `heads` heads (of all samples) of `rows` queries and `columns` keys.
struct AttentionShape {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t heads = 1;
  std::int64_t key_width = 1;
  std::int64_t value_width = 1;
  ProductPass pass = ProductPass::kForward;  ///< kForward or kInputGrad

  friend bool operator==(const AttentionShape&, const AttentionShape&) = default;
};

/// What was measured of a shape: the share of the peak of its format that it reached.
struct GemmPoint {
  ProductShape shape;
  double efficiency = 0;

  friend bool operator==(const GemmPoint&, const GemmPoint&) = default;
};

/// What was measured of attention: the share of the peak that it reached. FLOPs are those of the mask (half of rows x
/// columns where it is causal).
struct AttentionPoint {
  AttentionShape shape;
  double efficiency = 0;

  friend bool operator==(const AttentionPoint&, const AttentionPoint&) = default;
};

/// A measured point of a table, against a smooth model of all shapes: how far away it is, in doublings of its sizes
/// (Euclidean), and the logarithm of measured over modelled.
struct Deviation {
  double distance = 0;
  double log_ratio = 0;
};

/// Returns the factor on the model's share: the deviations' mean, weighted by the inverse square of their distances,
/// drawn towards 1 with the distance of the nearest (Shepard's interpolation against a model). On a point it is the
/// point.
double table_factor(std::span<const Deviation> deviations);

/// Euclidean distance of two shapes in doublings of their sizes.
double doublings_apart(const ProductShape& a, const ProductShape& b);
double doublings_apart(const AttentionShape& a, const AttentionShape& b);

}  // namespace plumb
