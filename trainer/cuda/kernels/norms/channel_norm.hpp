#pragma once

#include <cstddef>
#include <cstdint>

#include "trainer/cuda/kernels/stream.hpp"

namespace plumb::kernels {

/// Batch norm (`groups` 0: mean and deviation by channel over all pixels) or group norm (by image and group of
/// channels) of images, a row of channels per pixel. Statistics are floats.
struct ChannelNormShape {
  std::int64_t images = 0;
  std::int64_t pixels = 0;  ///< pixels of an image
  std::int64_t channels = 0;
  std::int64_t groups = 0;

  std::int64_t rows() const { return images * pixels; }
};

template <class T>
struct ChannelNormForward {
  ChannelNormShape shape;
  const T* input = nullptr;
  const T* weight = nullptr;
  const T* bias = nullptr;
  T* output = nullptr;  ///< or null
  float* mean = nullptr;
  float* inverse = nullptr;
  std::byte* scratch = nullptr;  ///< channel_norm_scratch_bytes(shape)
};
template <class T>
void channel_norm_forward(const ChannelNormForward<T>& norm, Stream stream);

template <class T>
struct ChannelNormBackward {
  ChannelNormShape shape;
  const T* input = nullptr;
  const T* output_grad = nullptr;
  const T* weight = nullptr;
  const float* mean = nullptr;
  const float* inverse = nullptr;
  T* input_grad = nullptr;
  float* weight_grad = nullptr;  ///< added to
  float* bias_grad = nullptr;    ///< added to
  std::byte* scratch = nullptr;
};
template <class T>
void channel_norm_backward(const ChannelNormBackward<T>& norm, Stream stream);

std::int64_t channel_norm_scratch_bytes(const ChannelNormShape& shape);

}  // namespace plumb::kernels
