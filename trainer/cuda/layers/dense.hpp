#pragma once

#include <cstdint>

#include "trainer/cuda/kernels/products/column_sums.hpp"
#include "trainer/cuda/layers/cuda_layer.hpp"

namespace plumb::kernels {

/// y = x W^T + b on a device (trainer/layers/projection.hpp): x is tokens x inputs, W outputs x inputs.
template <class T>
struct Dense {
  std::int64_t tokens = 0;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;

  /// The product for y, with the bias in its epilogue where there is one.
  MatrixProduct forward_product(const T* x, const T* weight, const T* bias, T* y) const {
    return {.a = {x, inputs, false},
            .b = {weight, inputs, true},
            .c = y,
            .c_stride = outputs,
            .rows = tokens,
            .columns = outputs,
            .depth = inputs,
            .operands = kKindOf<T>,
            .result = kKindOf<T>,
            .epilogue = bias != nullptr ? Epilogue::kBias : Epilogue::kNone,
            .bias = bias};
  }
  /// dx = dy W. `stride`: numbers between rows of dx, 0 when dense.
  MatrixProduct input_grad_product(const T* dy, const T* weight, T* dx, std::int64_t stride = 0) const {
    return {.a = {dy, outputs, false},
            .b = {weight, inputs, false},
            .c = dx,
            .c_stride = stride == 0 ? inputs : stride,
            .rows = tokens,
            .columns = inputs,
            .depth = outputs,
            .operands = kKindOf<T>,
            .result = kKindOf<T>};
  }

  void forward(const DeviceContext& device, const T* x, const T* weight, const T* bias, T* y) const {
    device.products->run(forward_product(x, weight, bias, y), device.stream);
  }
  void input_grad(const DeviceContext& device, const T* dy, const T* weight, T* dx) const {
    device.products->run(input_grad_product(dy, weight, dx), device.stream);
  }
  /// dW += dy^T x, db += column sums of dy; either may be null (frozen, or no bias).
  void weight_grad(const DeviceContext& device, const T* dy, const T* x, float* weight_grad, float* bias_grad) const {
    if (weight_grad != nullptr) add_weight_grad(device, dy, x, weight_grad);
    if (bias_grad == nullptr) return;
    add_column_sums<T>({dy, tokens, outputs, bias_grad, device.scratch}, device.stream);
  }
  std::int64_t scratch_bytes() const { return column_scratch_bytes(tokens, outputs, 1); }

 private:
  void add_weight_grad(const DeviceContext& device, const T* dy, const T* x, float* weight_grad) const {
    device.products->run({.a = {dy, outputs, true},
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
