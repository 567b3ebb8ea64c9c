#include "trainer/cuda/green_driver.hpp"

#include <cuda_runtime_api.h>

#include "models/ground/error.hpp"

namespace plumb::cuda {
namespace {

template <class Function>
void look_up(const char* name, unsigned int version, Function& function) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  const cudaError_t status = cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &result);
  if (status == cudaSuccess && result == cudaDriverEntryPointSuccess) function = reinterpret_cast<Function>(found);
}

}  // namespace

GreenDriver load_green_driver() {
  GreenDriver driver;
  look_up("cuDeviceGetDevResource", 12040, driver.device_resource);
  look_up("cuDevSmResourceSplitByCount", 12040, driver.split);
  look_up("cuDevResourceGenerateDesc", 12040, driver.describe);
  look_up("cuGreenCtxCreate", 12040, driver.create);
  look_up("cuGreenCtxDestroy", 12040, driver.destroy);
  look_up("cuGreenCtxGetDevResource", 12040, driver.context_resource);
  look_up("cuGreenCtxStreamCreate", 12050, driver.create_stream);
  look_up("cuStreamDestroy", 4000, driver.destroy_stream);
  return driver;
}

void check_driver(CUresult status, const std::string& call) {
  if (status == CUDA_SUCCESS) return;
  std::string why = "code " + std::to_string(static_cast<int>(status));
  if (status == CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION) why = "invalid resource configuration, 915";
  if (status == CUDA_ERROR_INVALID_RESOURCE_TYPE) why = "invalid resource type, 914";
  throw Error("CUDA driver: " + call + " failed (" + why + "; CUDA_LOG_FILE=file says more)");
}

}  // namespace plumb::cuda
