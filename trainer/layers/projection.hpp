#pragma once

#include <cstdint>

namespace plumb {

/// Sizes of y = x W^T + b: x is tokens x inputs, W outputs x inputs, y tokens x outputs.
struct Projection {
  std::int64_t tokens = 0;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;

  /// `bias` may be null.
  template <class T>
  void forward(const T* x, const T* weight, const T* bias, T* y) const;

  /// dx = dy W. `dx_stride`: numbers between rows of dx, 0 when dense.
  template <class T>
  void input_grad(const T* dy, const T* weight, T* dx, std::int64_t dx_stride = 0) const;

  /// dW += dy^T x, db += sum of dy over the tokens, in their order; either may be null (frozen).
  template <class T>
  void weight_grad(const T* dy, const T* x, T* weight_grad, T* bias_grad) const;
};

}  // namespace plumb
