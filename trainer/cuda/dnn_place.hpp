#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace plumb::cuda {

/// What the work that cuDNN does for one stage may use.
struct DnnPlace {
  int sms = 0;                     ///< multiprocessors that the stream has; 0: all of the GPU
  std::byte* workspace = nullptr;  ///< workspace of the stage alone, at a multiple of 256 bytes
  std::int64_t workspace_bytes = 0;
};

/// "cuDNN 9.19.0, NVIDIA H200": what a table of choices holds for. Throws Error when cuDNN cannot be loaded.
std::string dnn_table_head(const std::string& gpu);

}  // namespace plumb::cuda
