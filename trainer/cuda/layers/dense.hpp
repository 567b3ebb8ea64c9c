#pragma once

#include <cassert>
#include <cstdint>

#include "trainer/cuda/kernels/products/column_sums.hpp"
#include "trainer/cuda/layers/cuda_layer.hpp"
#include "trainer/layers/product_terms.hpp"

namespace plumb::kernels {

/// y = x W^T + b on a device, as `Projection` (trainer/layers/projection.hpp) has it.
template <class T>
struct Dense {
  std::int64_t tokens = 0;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  std::int64_t y_stride = 0;  ///< numbers between rows of y and dy; 0: dense

  /// The product for y, with the bias in its epilogue where there is one.
  MatrixProduct forward_product(const T* x, const AffineWeights<T>& weights, T* y,
                                const ProductTerms& terms = {}) const {
    return {.a = {x, inputs, false},
            .b = {weights.weight, inputs, true},
            .c = y,
            .c_stride = y_columns(),
            .rows = tokens,
            .columns = outputs,
            .depth = inputs,
            .operands = kKindOf<T>,
            .result = kKindOf<T>,
            .accumulates = terms.adds,
            .scale = static_cast<float>(terms.scale),
            .epilogue = weights.bias != nullptr ? Epilogue::kBias : Epilogue::kNone,
            .bias = weights.bias};
  }
  /// The product for dx = dy W.
  MatrixProduct input_grad_product(const T* dy, const T* weight, T* dx, const ProductTerms& terms = {}) const {
    return {.a = {dy, y_columns(), false},
            .b = {weight, inputs, false},
            .c = dx,
            .c_stride = terms.stride == 0 ? inputs : terms.stride,
            .rows = tokens,
            .columns = inputs,
            .depth = outputs,
            .operands = kKindOf<T>,
            .result = kKindOf<T>,
            .accumulates = terms.adds,
            .scale = static_cast<float>(terms.scale)};
  }

  void forward(const CudaPass<T>& pass, const T* x, const AffineWeights<T>& weights, T* y,
               const ProductTerms& terms = {}) const {
    pass.device.products->run(forward_product(x, weights, y, terms), pass.device.stream);
  }
  void input_grad(const CudaPass<T>& pass, const T* dy, const T* weight, T* dx, const ProductTerms& terms = {}) const {
    pass.device.products->run(input_grad_product(dy, weight, dx, terms), pass.device.stream);
  }
  /// Adds dy^T x to dW, and the column sums of dense dy to db; either may be null (frozen, or no bias).
  void weight_grad(const CudaPass<T>& pass, const T* dy, const T* x, float* weight_grad, float* bias_grad) const {
    if (weight_grad != nullptr) add_weight_grad(pass.device, dy, x, weight_grad);
    if (bias_grad == nullptr) return;
    assert(y_columns() == outputs);
    add_column_sums<T>({dy, tokens, outputs, bias_grad, pass.device.scratch}, pass.device.stream);
  }
  std::int64_t scratch_bytes() const { return column_scratch_bytes(tokens, outputs, 1); }

 private:
  std::int64_t y_columns() const { return y_stride == 0 ? outputs : y_stride; }

  void add_weight_grad(const DeviceContext& device, const T* dy, const T* x, float* weight_grad) const {
    device.products->run({.a = {dy, y_columns(), true},
                          .b = {x, inputs, false},
                          .c = weight_grad,
                          .c_stride = inputs,
                          .rows = outputs,
                          .columns = inputs,
                          .depth = tokens,
                          .operands = kKindOf<T>,
                          .result = NumberKind::kFloat32,
                          .accumulates = true},
                         device.stream);
  }
};

}  // namespace plumb::kernels
