#pragma once

#include <cstddef>
#include <span>

#include "trainer/cuda/dnn/dnn_plan.hpp"
#include "trainer/cuda/kernels/stream.hpp"

namespace plumb::cuda {

/// cuDNN on the GPU that is active when this is made. Throws Error when it cannot start there.
class DnnHandle {
 public:
  DnnHandle() { check_dnn(dnn().Create(&handle_), "cudnnCreate"); }
  ~DnnHandle() { dnn().Destroy(handle_); }
  DnnHandle(const DnnHandle&) = delete;
  DnnHandle& operator=(const DnnHandle&) = delete;

  DnnDevice device() const { return {.handle = handle_}; }

  /// Puts a plan on a stream; `memory` as its operations have it.
  void run(const DnnPlan& plan, std::span<void* const> memory, kernels::Stream stream, std::byte* workspace) const {
    check_dnn(dnn().SetStream(handle_, stream), "cudnnSetStream");
    plan.run(handle_, memory, workspace);
  }

 private:
  cudnnHandle_t handle_ = nullptr;
};

}  // namespace plumb::cuda
