#pragma once

#include "trainer/train.hpp"

namespace plumb {

/// Trains with CUDA's stages, on the device that the test is linked for: the emulated one (tests/cuda_kernels) or a
/// real GPU (tests/gpu).
TrainResult device_training(TrainOptions options);

}  // namespace plumb
