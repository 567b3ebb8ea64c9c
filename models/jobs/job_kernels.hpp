#pragma once

#include "models/jobs/job_shape.hpp"
#include "models/kernels/kernels.hpp"
#include "models/network/network.hpp"

namespace plumb {

/// Returns the kernels of `layer`: eager ones of Megatron-LM's kind (bias and activation, and softmax and its mask, are
/// fused).
LayerKernels layer_kernels(const LayerSpec& layer, const JobShape& shape);

}  // namespace plumb
