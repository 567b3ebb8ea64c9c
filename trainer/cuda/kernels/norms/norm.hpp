#pragma once

#include <cstddef>
#include <cstdint>

#include "trainer/cuda/kernels/stream.hpp"

namespace plumb::kernels {

/// Layer norm, or RMS norm where `mean` is null (trainer/layers/layer_norm.cpp, rms_norm.cpp): a row per token.
/// Statistics are floats.
template <class T>
struct NormForward {
  const T* input = nullptr;
  const T* added = nullptr;  ///< or null: what the input grows by first, rounded; the sum goes to `sum`
  T* sum = nullptr;          ///< may be the input itself
  const T* weight = nullptr;
  const T* bias = nullptr;  ///< or null
  T* output = nullptr;      ///< null: statistics only
  float* mean = nullptr;    ///< null: RMS norm
  float* inverse = nullptr;
  std::int64_t rows = 0;
  std::int64_t width = 0;
  float epsilon = 1e-5F;  ///< added to the variance
};
template <class T>
void norm_forward(const NormForward<T>& norm, Stream stream);

template <class T>
struct NormBackward {
  const T* input = nullptr;
  const T* output_grad = nullptr;
  const T* weight = nullptr;
  const float* mean = nullptr;  ///< null: RMS norm
  const float* inverse = nullptr;
  const T* added = nullptr;      ///< or null: added to the input gradient once that is rounded
  T* input_grad = nullptr;       ///< overwritten
  float* weight_grad = nullptr;  ///< added to
  float* bias_grad = nullptr;    ///< or null; added to
  std::byte* scratch =
      nullptr;  ///< column_scratch_bytes(rows, width, 2), trainer/cuda/kernels/products/column_sums.hpp
  std::int64_t rows = 0;
  std::int64_t width = 0;
};
template <class T>
void norm_backward(const NormBackward<T>& norm, Stream stream);

}  // namespace plumb::kernels
