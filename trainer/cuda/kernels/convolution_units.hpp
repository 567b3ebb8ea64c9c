#pragma once

#include <cstdint>
#include <functional>

#include "trainer/cuda/kernels/image.hpp"

namespace plumb::kernels {

enum class ConvolutionPass : std::uint8_t { kForward, kInputGrad, kWeightGrad };

/// Windows over images that every filter is multiplied with.
struct ConvolutionShape {
  ImageWindow window;
  std::int64_t filters = 0;

  std::int64_t image_numbers() const { return window.pixels() * window.channels; }
  std::int64_t output_numbers() const { return window.out_pixels() * filters; }
  std::int64_t filter_numbers() const { return filters * window.places() * window.channels; }
};

/// One pass of a convolution without bias. Filters are rows as long as a window, pixels line by line.
template <class T>
struct ConvolutionCall {
  ConvolutionPass pass = ConvolutionPass::kForward;
  ConvolutionShape shape;
  const T* images = nullptr;       ///< forward and weight gradient
  const T* filters = nullptr;      ///< forward and input gradient
  const T* output_grad = nullptr;  ///< input and weight gradient
  T* result = nullptr;             ///< outputs, or the gradient of images
  float* filter_grad = nullptr;    ///< filters' gradient, which a weight gradient adds to
  std::function<void()> own = {};  ///< puts the same on the stream, by our kernels
};

/// Convolutions in bf16 by somebody else than our kernels, which answer for what it refuses.
class ConvolutionUnits {
 public:
  virtual ~ConvolutionUnits() = default;
  /// Puts it on the stream and returns true, or leaves everything as it was and returns false. Throws Error when the
  /// device fails.
  virtual bool run(const ConvolutionCall<BFloat16>& call, Stream stream) = 0;
};

}  // namespace plumb::kernels
