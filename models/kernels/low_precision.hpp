#pragma once

#include <cstdint>

#include "models/kernels/format_costs.hpp"
#include "models/kernels/kernels.hpp"

namespace plumb {

/// A tensor of 16 bits that a product reads in another format.
struct CastTensor {
  double numbers = 0;
  std::int64_t copies = 1;   ///< tensors of one expert each, cast by one call, a kernel for each
  bool made_for_it = false;  ///< a norm or an activation has just made it
  bool shared = false;       ///< parts of it lie on all tensor ranks: one scale for all of them
  bool any_layout = false;   ///< products read 8 bits by rows or by columns: one scale per tensor needs one copy
};

/// Adds what casts the tensor to `format`: reads it, twice where an amax is looked for that its maker has not found,
/// and writes the copies. The amax of a shared tensor is reduced over tensor ranks. Norms and activations write what
/// products read in its format at once, where they need no amax for that: no cast then.
void add_cast(PassKernels& pass, MatrixFormat format, const CastTensor& tensor);

}  // namespace plumb
