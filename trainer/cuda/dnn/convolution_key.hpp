#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "trainer/cuda/kernels/convolution_units.hpp"

namespace plumb::cuda {

/// What decides how a pass of a convolution is computed.
struct ConvolutionKey {
  kernels::ConvolutionPass pass{};
  std::int64_t images = 0;
  std::int64_t height = 0;
  std::int64_t columns = 0;
  std::int64_t channels = 0;
  std::int64_t filters = 0;
  std::int64_t kernel_height = 0;
  std::int64_t kernel_columns = 0;
  std::int64_t out_height = 0;
  std::int64_t out_columns = 0;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  int sms = 0;  ///< multiprocessors that it may use; 0: all

  friend auto operator<=>(const ConvolutionKey&, const ConvolutionKey&) = default;
};

ConvolutionKey key_of(kernels::ConvolutionPass pass, const kernels::ConvolutionShape& shape, int sms);

/// "forward n32 56x56 c64 f64 k3x3 s1 p1 sms8": one line, equal for equal keys.
std::string text_of(const ConvolutionKey& key);

/// Workspace that cuDNN may have for any pass, with the gradient of the filters in bf16 in front of it (which takes
/// `filter_grad_bytes`). Seen in cuDNN 9.19: where channels are no multiple of 8 it copies images and outputs, padded
/// to one; sums of parts of the filters' gradient are 16 MiB at most.
std::int64_t convolution_workspace_bytes(const kernels::ConvolutionShape& shape);
std::int64_t filter_grad_bytes(const kernels::ConvolutionShape& shape);

/// Returns why cuDNN is not asked for this convolution; empty: it is.
std::string not_asked_because(const ConvolutionKey& key);

}  // namespace plumb::cuda
