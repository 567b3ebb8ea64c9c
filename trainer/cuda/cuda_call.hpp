#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "models/ground/error.hpp"

namespace plumb::cuda {

/// Throws `Error` with the text of the call, unless it has succeeded.
inline void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  throw Error(std::string("CUDA: ") + call + ": " + cudaGetErrorName(status) + " (" + cudaGetErrorString(status) + ")");
}

}  // namespace plumb::cuda

/// Checks a call of the CUDA runtime; what it says on failure has the call's text.
#define PLUMB_CUDA_CALL(call) ::plumb::cuda::check(call, #call)
