#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace plumb {

/// The bytes of a PNG file: `pixels` has three bytes (red, green, blue) for each, row by row from the top. The file
/// says how large it is meant to be, so that documents show it at its size. Format: ISO/IEC 15948.
std::string png_file(std::size_t width, std::size_t height, std::span<const unsigned char> pixels,
                     double dots_per_inch);

}  // namespace plumb
