#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/cuda/dnn/dnn_graph.hpp"

namespace plumb::cuda {

/// The GPU that plans are made for: one that is there, by its handle, or one that is only described.
struct DnnDevice {
  cudnnHandle_t handle = nullptr;
  const DnnDescriptor* properties = nullptr;
};

/// Returns a GPU as cuDNN 9.11 and later writes it in JSON. Throws Error when something is missing there.
DnnDescriptor device_properties(std::string_view json);

/// What a plan must respect.
struct DnnLimits {
  int sms = 0;  ///< multiprocessors that it may use; 0: all
  std::int64_t workspace_bytes = 0;
};

/// Operations that the library has made ready. Any stream of the device may run it.
class DnnPlan {
 public:
  /// The library's first proposal that it does not call nondeterministic, that fits, and for which it has a kernel.
  /// The target of multiprocessors goes along; where nothing has one, which is so of all attention in cuDNN 9.19, the
  /// plan is for the whole GPU (and runs on a part of it all the same). Throws Error with the last reason when there
  /// is none. May compile a kernel: for attention that takes about a second.
  DnnPlan(const DnnDevice& device, DnnOperations operations, const DnnLimits& limits);

  /// `memory` in the order of the operations' own. Puts it on the handle's stream.
  void run(cudnnHandle_t handle, std::span<void* const> memory, std::byte* workspace) const;

  std::int64_t workspace_bytes() const { return workspace_bytes_; }
  std::int64_t engine() const { return engine_; }
  int sms() const { return sms_; }  ///< multiprocessors that the plan was made for; 0: all

 private:
  struct Proposals;
  bool take_first(const DnnDevice& device, const DnnLimits& limits, const Proposals& proposals, std::string& why);

  DnnOperations operations_;
  DnnDescriptor graph_;
  std::optional<DnnDescriptor> configuration_;  ///< configuration of the plan, which may refer to it
  std::optional<DnnDescriptor> plan_;
  std::int64_t workspace_bytes_ = 0;
  std::int64_t engine_ = -1;
  int sms_ = 0;
};

}  // namespace plumb::cuda
