#pragma once

#include <string>
#include <vector>

namespace plumb {

/// The CUDA devices that this process can use.
struct CudaDevices {
  bool built = false;              ///< this program was built with the CUDA toolkit
  std::vector<std::string> names;  ///< "NVIDIA H200 (132 SMs, 141 GB, sm_90)"
  std::string reason;              ///< why `names` is empty: not built, no driver, no device
};

/// Asks the runtime; never fails on a machine without a driver, because the driver is only looked up at run time.
CudaDevices cuda_devices();

}  // namespace plumb
