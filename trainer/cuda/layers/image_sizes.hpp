#pragma once

#include <algorithm>
#include <cstdint>

#include "models/network/layer_shape.hpp"
#include "models/network/network.hpp"
#include "trainer/cuda/kernels/image.hpp"

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

}  // namespace plumb::kernels
