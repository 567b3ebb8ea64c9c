#pragma once

#include <cstdint>

#include "trainer/cuda/kernels/stream.hpp"

namespace plumb::kernels {

/// The activation of an MLP (trainer/layers/mlp.cpp). `inner` has `hidden` columns, or twice as many when gated: the
/// gates, then what they let through.
template <class T>
struct Activation {
  const T* inner = nullptr;
  T* activated = nullptr;
  std::int64_t rows = 0;
  std::int64_t hidden = 0;
  bool gated = false;  ///< SwiGLU instead of GELU
};
template <class T>
void activate(const Activation<T>& activation, Stream stream);

/// In place: the gradient of the activated values, in the last `hidden` columns, becomes that of the inner ones.
template <class T>
struct ActivationGrad {
  const T* inner = nullptr;
  T* gradient = nullptr;
  std::int64_t rows = 0;
  std::int64_t hidden = 0;
  bool gated = false;
};
template <class T>
void activation_grad(const ActivationGrad<T>& activation, Stream stream);

}  // namespace plumb::kernels
