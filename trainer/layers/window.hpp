#pragma once

#include <algorithm>
#include <cstdint>

#include "models/network/layer_shape.hpp"
#include "models/network/network.hpp"

namespace plumb {

/// Windows that slide over an image.
struct Window {
  ImageShape in;
  ImageShape out;
  std::int64_t height = 0;
  std::int64_t columns = 0;
  std::int64_t stride = 1;
  std::int64_t padding = 0;

  /// A kernel of 0 is the whole image.
  explicit Window(const LayerSpec& spec)
      : in(input_image(spec)),
        out(output_image(spec)),
        height(spec.kernel == 0 ? spec.height : spec.kernel),
        columns(spec.kernel == 0 ? spec.columns : spec.kernel),
        stride(std::max<std::int64_t>(1, spec.stride)),
        padding(spec.padding) {}

  /// f(output pixel, input pixel, place in the window) for all pixels of all windows that lie in the image.
  template <class F>
  void for_each(F f) const {
    for (std::int64_t y = 0; y < out.height; ++y) {
      for (std::int64_t x = 0; x < out.columns; ++x) {
        for (std::int64_t place = 0; place < height * columns; ++place) {
          const std::int64_t line = y * stride - padding + place / columns;
          const std::int64_t column = x * stride - padding + place % columns;
          if (line < 0 || line >= in.height || column < 0 || column >= in.columns) continue;
          f(y * out.columns + x, line * in.columns + column, place);
        }
      }
    }
  }
};

}  // namespace plumb
