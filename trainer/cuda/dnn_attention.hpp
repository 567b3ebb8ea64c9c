#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "trainer/cuda/dnn/attention_table.hpp"
#include "trainer/cuda/kernels/attention/attention_units.hpp"

namespace plumb::cuda {

/// What the attention of one stage may use.
struct AttentionPlace {
  int sms = 0;                     ///< multiprocessors that the stream has; 0: all of the GPU
  std::byte* workspace = nullptr;  ///< of the stage alone, at a multiple of 256 bytes
  std::int64_t workspace_bytes = 0;
};

/// "cuDNN 9.19.0, NVIDIA H200": what a table of choices holds for. Throws Error when cuDNN cannot be loaded.
std::string attention_table_head(const std::string& gpu);

/// Attention by cuDNN on one GPU: its handle, its plans, and the table of who computes what. cuDNN is asked once for
/// each kind of attention, at its first run (which must not be captured), and taken only if it has a deterministic plan
/// whose results are ours within what bf16 explains. Later runs wait for nothing and allocate nothing.
class DnnAttention {
 public:
  /// For the GPU that is active now. `timed`: cuDNN only where it is faster. Throws Error when cuDNN cannot start.
  DnnAttention(std::shared_ptr<AttentionTable> table, bool timed);
  ~DnnAttention();
  DnnAttention(const DnnAttention&) = delete;
  DnnAttention& operator=(const DnnAttention&) = delete;

  /// Of one stage. Must not outlive this.
  std::unique_ptr<kernels::AttentionUnits> units(const AttentionPlace& place);

 private:
  class Units;
  struct Library;
  std::unique_ptr<Library> library_;
};

}  // namespace plumb::cuda
