#include "models/layers/layer_workspace.hpp"

#include <algorithm>

#include "models/network/layer_shape.hpp"

namespace plumb {

std::int64_t convolution_images(const LayerSpec& spec, std::int64_t images, std::int64_t number_bytes) {
  const std::int64_t patches = output_image(spec).pixels() * spec.kernel * spec.kernel * spec.channels * number_bytes;
  return std::clamp<std::int64_t>(kPatchBytes / std::max<std::int64_t>(1, patches), 1, images);
}

bool needs_patches(const LayerSpec& spec) { return spec.kernel != 1 || spec.stride != 1 || spec.padding != 0; }

}  // namespace plumb
