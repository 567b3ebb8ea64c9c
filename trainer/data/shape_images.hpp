#pragma once

#include <cstdint>

#include "trainer/data/image_data.hpp"

namespace plumb {

/// What `shape_images` draws.
struct ShapeImageOptions {
  ImageShape image{12, 12, 3};  ///< 1 or 3 channels, sides of at least 8
  std::int64_t classes = 10;    ///< at most 5 shapes x 3 colours (1 channel: 5)
  std::int64_t training = 4096;
  std::int64_t held_out = 1024;
  std::uint64_t seed = 1;  ///< seed of the pictures, not of the training
  double noise = 40;       ///< deviation of the noise on every byte
};

/// Returns a small learnable task: a disc, square, cross, triangle or ring of some size at some place, in a colour near
/// that of its class, on a dark background, all under noise. The class is shape and colour. Throws Error for options
/// that cannot be drawn.
ImageData shape_images(const ShapeImageOptions& options);

}  // namespace plumb
