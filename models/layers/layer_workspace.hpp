#pragma once

#include <cstdint>

#include "models/network/network.hpp"

namespace plumb {

/// Rows of the score matrix that attention handles at a time; bounds its workspace.
inline constexpr std::int64_t kAttentionRows = 64;

/// Bytes for the patches of images that a convolution lays out at a time (at least those of one image).
inline constexpr std::int64_t kPatchBytes = std::int64_t{1} << 18;
/// How many images have their patches laid out together.
std::int64_t convolution_images(const LayerSpec& spec, std::int64_t images, std::int64_t number_bytes);
/// Whether a convolution lays out patches at all: a 1 x 1 window reads the image as it is.
bool needs_patches(const LayerSpec& spec);

}  // namespace plumb
