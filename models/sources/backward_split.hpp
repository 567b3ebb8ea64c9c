#pragma once

#include "models/network/network.hpp"

namespace plumb {

/// Returns the share of a network's backward that makes gradients of inputs, by the FLOPs of its products for one
/// microbatch of its own size; the rest makes gradients of weights. One half where all products have weights, more with
/// attention. 0 where layers are known by their times only.
double input_grad_share(const Network& network);

}  // namespace plumb
