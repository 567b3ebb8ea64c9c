#include "trainer/cuda/cuda_devices.hpp"

namespace plumb {

CudaDevices cuda_devices() { return {.built = false, .names = {}, .reason = "not built with CUDA"}; }

}  // namespace plumb
