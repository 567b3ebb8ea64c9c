#include "trainer/cuda/cuda_devices.hpp"

#include <cuda_runtime_api.h>

namespace plumb {

CudaDevices cuda_devices() {
  CudaDevices found;
  found.built = true;
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) {
    const bool no_driver = status == cudaErrorInsufficientDriver;
    found.reason = std::string("no CUDA device (") + (no_driver ? "driver missing" : cudaGetErrorString(status)) + ")";
    return found;
  }
  for (int device = 0; device < count; ++device) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, device) != cudaSuccess) continue;
    found.names.push_back(std::string(properties.name) + " (" + std::to_string(properties.multiProcessorCount) +
                          " SMs, " + std::to_string(properties.totalGlobalMem / 1'000'000'000) + " GB, sm_" +
                          std::to_string(properties.major) + std::to_string(properties.minor) + ")");
  }
  if (found.names.empty()) found.reason = "no CUDA device";
  return found;
}

}  // namespace plumb
