#pragma once

#include <memory>

#include "trainer/cuda/dnn/dnn_table.hpp"
#include "trainer/cuda/dnn_place.hpp"
#include "trainer/cuda/kernels/attention/attention_units.hpp"

namespace plumb::cuda {

/// Attention by cuDNN on one GPU: its handle, its plans, and the table of who computes what. cuDNN is asked once for
/// each kind of attention, at its first run (which must not be captured), and taken only if it has a deterministic plan
/// whose results are ours within what bf16 explains. Later runs wait for nothing and allocate nothing.
class DnnAttention {
 public:
  /// For the GPU that is active now. `timed`: cuDNN only where it is faster. Throws Error when cuDNN cannot start.
  DnnAttention(std::shared_ptr<DnnTable> table, bool timed);
  ~DnnAttention();
  DnnAttention(const DnnAttention&) = delete;
  DnnAttention& operator=(const DnnAttention&) = delete;

  /// Makes the attention of one stage. The result must not outlive this object.
  std::unique_ptr<kernels::AttentionUnits> units(const DnnPlace& place);

 private:
  class Units;
  struct Library;
  std::unique_ptr<Library> library_;
};

}  // namespace plumb::cuda
