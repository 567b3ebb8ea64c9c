#pragma once

#include <memory>

#include "trainer/cuda/dnn/dnn_table.hpp"
#include "trainer/cuda/dnn_place.hpp"
#include "trainer/cuda/kernels/convolution_units.hpp"

namespace plumb::cuda {

/// Convolutions by cuDNN on one GPU, chosen as `DnnAttention` chooses attention: each kind is asked for once, at its
/// first run (which must not be captured), and taken only if there is a deterministic plan whose results are ours
/// within what bf16 explains. The gradient of filters is rounded to bf16 before it is added to that of the stage.
class DnnConvolution {
 public:
  /// For the GPU that is active now. `timed`: cuDNN only where it is faster. Throws Error when cuDNN cannot start.
  DnnConvolution(std::shared_ptr<DnnTable> table, bool timed);
  ~DnnConvolution();
  DnnConvolution(const DnnConvolution&) = delete;
  DnnConvolution& operator=(const DnnConvolution&) = delete;

  /// Makes the convolutions of one stage. The result must not outlive this object.
  std::unique_ptr<kernels::ConvolutionUnits> units(const DnnPlace& place);

 private:
  class Units;
  struct Library;
  std::unique_ptr<Library> library_;
};

}  // namespace plumb::cuda
