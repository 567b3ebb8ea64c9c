#pragma once

#include <algorithm>
#include <cstdint>

#include "models/layers/layer_workspace.hpp"
#include "models/network/layer_shape.hpp"
#include "models/network/network.hpp"
#include "trainer/cuda/kernels/convolution_units.hpp"

namespace plumb::kernels {

/// The windows of a convolution or pool over `images` images. A kernel of 0 is the whole image.
inline ImageWindow image_window(const LayerSpec& spec, std::int64_t images) {
  const ImageShape out = output_image(spec);
  return {.images = images,
          .height = spec.height,
          .columns = spec.columns,
          .channels = spec.channels,
          .out_height = out.height,
          .out_columns = out.columns,
          .kernel_height = spec.kernel == 0 ? spec.height : spec.kernel,
          .kernel_columns = spec.kernel == 0 ? spec.columns : spec.kernel,
          .stride = std::max<std::int64_t>(1, spec.stride),
          .padding = spec.padding};
}

/// Whether others than our kernels are asked for a convolution. Windows of one pixel are matrix products as they are;
/// with a bias cuDNN would compile a kernel of its own, for seconds each.
inline bool asks_for_convolution(const LayerSpec& spec) {
  return spec.kind == LayerKind::kConvolution && needs_patches(spec) && !spec.bias;
}

inline ConvolutionShape convolution_shape(const LayerSpec& spec, std::int64_t images) {
  return {.window = image_window(spec, images), .filters = spec.filters};
}

}  // namespace plumb::kernels
