#pragma once

#include <cstdint>

#include "models/ground/units.hpp"

namespace plumb {

/// What a layer adds at least to whatever stage it is part of, on a device of speed 1: no pass or update of a stage
/// takes less than the sum over its layers, and no stage holds or keeps less. Searches prove bounds with it.
struct LayerLeast {
  /// Passes for one microbatch.
  struct Passes {
    Ticks f = 0;
    Ticks b = 0;  ///< fused backward
    Ticks i = 0;
    Ticks w = 0;
  };
  Passes alone{};
  Passes paired{};  ///< what is left of each when the other half of an overlapped pair hides its communication
  Ticks u = 0;      ///< per update
  std::int64_t held_bytes = 0;  ///< weights, gradients, optimizer state
  std::int64_t kept_bytes = 0;  ///< bytes of a microbatch, from the start of its forward to its backward

  LayerLeast& operator+=(const LayerLeast& other);
};

inline LayerLeast& LayerLeast::operator+=(const LayerLeast& other) {
  const auto add = [](Passes& to, const Passes& more) {
    to = {to.f + more.f, to.b + more.b, to.i + more.i, to.w + more.w};
  };
  add(alone, other.alone);
  add(paired, other.paired);
  u += other.u;
  held_bytes += other.held_bytes;
  kept_bytes += other.kept_bytes;
  return *this;
}

}  // namespace plumb
