#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "models/ground/units.hpp"

// Tessel's shapes once more, as they are drawn and not as documents: what tests hold orders and documents against.

namespace plumb::testing {

/// A forward of a shape, and which it follows.
struct ShapeWork {
  std::vector<std::int32_t> devices;
  std::vector<std::size_t> after;

  bool shared() const { return devices.size() > 1; }
};

/// The forwards of one microbatch; backwards are their mirror image.
inline std::vector<ShapeWork> drawn_shape(const std::string& shape, std::int32_t p) {
  std::vector<std::int32_t> all;
  for (std::int32_t d = 0; d < p; ++d) all.push_back(d);
  std::vector<ShapeWork> works;
  const auto down = [&](std::int32_t from, std::int32_t to, std::vector<std::size_t> after) {
    for (std::int32_t d = from; d != to; d += from < to ? 1 : -1) {
      works.push_back({{d}, after});
      after = {works.size() - 1};
    }
  };
  if (shape == "m" || shape == "nn" || shape == "interlaced") works.push_back({all, {}});
  const bool begins = !works.empty();
  if (shape == "nn") {
    down(0, p / 2, {0});
    works.push_back({all, {works.size() - 1}});
    down(p / 2, p, {works.size() - 1});
  } else if (shape == "k") {
    down(0, p / 2, {});
    const std::size_t one = works.size() - 1;
    down(p / 2, p, {});
    works.push_back({all, {one, works.size() - 1}});
  } else {
    down(0, p, begins ? std::vector<std::size_t>{0} : std::vector<std::size_t>{});
    if (shape == "x") down(p - 1, -1, {});
    if (shape == "interlaced") works.push_back({all, {works.size() - 1}});
  }
  return works;
}

/// Times of passes, in the units of a timeline.
struct ShapePasses {
  Ticks forward = 0;
  Ticks backward = 0;
  Ticks shared_forward = 0;
  Ticks shared_backward = 0;
};

}  // namespace plumb::testing
