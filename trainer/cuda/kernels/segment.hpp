#pragma once

#include <cstdint>

namespace plumb::kernels {

/// Parameters that lie one after the other in a flat block and are treated alike.
struct Segment {
  std::int64_t count = 0;  ///< numbers
  bool decayed = false;    ///< the optimizer applies weight decay to them
  double factor = 1;       ///< for `scale` (trainer/cuda/kernels/blocks.hpp)
};

}  // namespace plumb::kernels
