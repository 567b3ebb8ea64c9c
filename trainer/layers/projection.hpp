#pragma once

#include <cstdint>

#include "trainer/layers/layer.hpp"
#include "trainer/layers/product_terms.hpp"

namespace plumb {

/// Sizes of y = x W^T + b: x is tokens x inputs, W outputs x inputs, y tokens x outputs.
template <class T>
struct Projection {
  std::int64_t tokens = 0;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  std::int64_t y_stride = 0;  ///< numbers between rows of y and dy; 0: dense

  void forward(const LayerPass<T>& pass, const T* x, const AffineWeights<T>& weights, T* y,
               const ProductTerms& terms = {}) const;

  /// Writes dx = dy W.
  void input_grad(const LayerPass<T>& pass, const T* dy, const T* weight, T* dx, const ProductTerms& terms = {}) const;

  /// Adds dy^T x to dW, and dy to db, row by row; either may be null (frozen, or no bias).
  void weight_grad(const LayerPass<T>& pass, const T* dy, const T* x, T* weight_grad, T* bias_grad) const;

  /// Bytes of scratch that a product needs beside the workspace of its pass.
  std::int64_t scratch_bytes() const { return 0; }
};

}  // namespace plumb
