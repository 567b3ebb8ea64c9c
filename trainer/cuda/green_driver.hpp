#pragma once

#include <cudaTypedefs.h>

#include <string>

namespace plumb::cuda {

/// The driver's functions that cut a GPU's multiprocessors into parts (green contexts), looked up at run time: the
/// program does not need the driver's library to start. Tests put their own functions here.
struct GreenDriver {
  PFN_cuDeviceGetDevResource_v12040 device_resource = nullptr;
  PFN_cuDevSmResourceSplitByCount_v12040 split = nullptr;
  PFN_cuDevResourceGenerateDesc_v12040 describe = nullptr;
  PFN_cuGreenCtxCreate_v12040 create = nullptr;
  PFN_cuGreenCtxDestroy_v12040 destroy = nullptr;
  PFN_cuGreenCtxGetDevResource_v12040 context_resource = nullptr;
  PFN_cuGreenCtxStreamCreate_v12050 create_stream = nullptr;
  PFN_cuStreamDestroy_v4000 destroy_stream = nullptr;

  /// Returns false where the driver is too old, or is not there.
  bool complete() const {
    return device_resource != nullptr && split != nullptr && describe != nullptr && create != nullptr &&
           destroy != nullptr && context_resource != nullptr && create_stream != nullptr && destroy_stream != nullptr;
  }
};

/// Returns what the driver of this machine has.
GreenDriver load_green_driver();

/// Throws `Error` with the text of the call and what its code means, unless it has succeeded.
void check_driver(CUresult status, const std::string& call);

}  // namespace plumb::cuda
