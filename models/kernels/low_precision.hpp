#pragma once

#include "models/kernels/format_costs.hpp"
#include "models/kernels/kernels.hpp"

namespace plumb {

/// Adds what casts `numbers` numbers of 16 bits to `format`: reads them, twice where an amax is looked for, and writes
/// the copies. `shared` tensors have one scale over the tensor ranks, whose amax is reduced.
/// Norms and activations write what products read in its format at once, where they need no amax for that: no cast
/// then.
void add_cast(PassKernels& pass, MatrixFormat format, double numbers, bool shared);

}  // namespace plumb
