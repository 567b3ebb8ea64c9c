#pragma once

#include <cudnn_graph.h>

#include <string>

namespace plumb::cuda {

/// The functions of cuDNN that the trainer calls, by their names without "cudnn".
struct DnnLibrary {
#define PLUMB_DNN_FUNCTIONS(apply)                                                                                     \
  apply(GetVersion) apply(GetErrorString) apply(GetLastErrorString) apply(Create) apply(Destroy) apply(SetStream)      \
      apply(BackendCreateDescriptor) apply(BackendDestroyDescriptor) apply(BackendFinalize) apply(BackendSetAttribute) \
          apply(BackendGetAttribute) apply(BackendExecute)
#define PLUMB_DNN_MEMBER(name) decltype(&cudnn##name) name = nullptr;
  PLUMB_DNN_FUNCTIONS(PLUMB_DNN_MEMBER)
#undef PLUMB_DNN_MEMBER
};

/// Loaded when first asked for: from the folder that the environment variable PLUMB_CUDNN names, if it does, otherwise
/// where the loader looks, then from the toolkit. Throws Error when it is missing, and again whenever it is asked for.
const DnnLibrary& dnn();

/// "9.19.0"
std::string dnn_version();

/// Throws Error with what cuDNN says of its last failure, unless `status` is success.
void check_dnn(cudnnStatus_t status, const std::string& what);

}  // namespace plumb::cuda
