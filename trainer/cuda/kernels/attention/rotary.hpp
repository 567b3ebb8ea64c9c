#pragma once

#include <cstdint>

#include "trainer/cuda/kernels/stream.hpp"

namespace plumb::kernels {

/// Angles by which the numbers of a head turn from one position to the next (trainer/layers/rotary.hpp).
struct RotaryFrequencies {
  static constexpr std::int64_t kMost = 128;  ///< half of the widest head that attention takes

  double of[kMost] = {};
};

/// Rotary position embedding of the first `heads` heads of every row, in place (trainer/layers/rotary.hpp).
template <class T>
struct RotaryTurn {
  T* rows = nullptr;
  std::int64_t stride = 0;
  std::int64_t tokens = 0;
  std::int64_t sequence = 0;  ///< rows of a sample
  std::int64_t before = 0;    ///< position of its first row
  std::int64_t heads = 0;
  std::int64_t head_width = 0;
  bool back = false;        ///< turns gradients back
  float* angles = nullptr;  ///< scratch: sequence x head_width numbers
};
template <class T>
void turn(const RotaryTurn<T>& rotary, const RotaryFrequencies& frequencies, Stream stream);

}  // namespace plumb::kernels
