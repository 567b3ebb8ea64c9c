#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/stages/stage_layout.hpp"
#include "trainer/cuda/layers/cuda_layer.hpp"
#include "trainer/memory/stage_stash.hpp"
#include "trainer/stages/step_pass.hpp"

namespace plumb::kernels {

/// The arithmetic of one stage for one microbatch on a device: `StageModule` (trainer/stages/stage_module.hpp) with the
/// same layout and protocol. Blocks, weights and gradients are in the device's memory.
template <class T>
class CudaStageModule {
 public:
  /// What a pass works on; unused members are null.
  struct Pass {
    DeviceContext device;
    const T* weights = nullptr;
    const T* frozen = nullptr;   ///< weights that no update changes
    float* gradients = nullptr;  ///< parameters packed like the weights
    StageBlocks blocks;
    MicrobatchIds ids;                ///< F and R; memory that the device reads
    double* loss = nullptr;           ///< F of the last stage; memory that the device writes
    std::int64_t* correct = nullptr;  ///< likewise, or null
  };

  /// Keeps `layout` by reference. Throws Error when a layer has no arithmetic on CUDA.
  CudaStageModule(const StageLayout& layout, const MicrobatchShape& shape);

  /// F, and R (whose loss nobody wants).
  void forward(const Pass& pass) const;
  void input_grad(const Pass& pass) const;
  void weight_grad(const Pass& pass) const;
  /// B: I and W layer by layer, with the same bits as I and then W.
  void backward(const Pass& pass) const;

  /// Of `DeviceContext::scratch`.
  std::int64_t scratch_bytes() const;

 private:
  using PassPlace = TensorPlace TensorPlaces::*;
  using Step = StepPass<CudaPass<T>, T, float>;
  struct Moves;

  Step step_pass(std::size_t k, PassPlace place, const Pass& pass) const;
  /// I of all layers, last one first, and W of each after it.
  void go_back(const Pass& pass, PassPlace place, bool with_weights) const;

  const StageLayout* layout_;
  double tokens_;
  std::vector<std::int64_t> parameter_offsets_;
  std::vector<std::int64_t> frozen_offsets_;
  std::vector<std::unique_ptr<CudaLayer<T>>> layers_;  ///< by step
};

}  // namespace plumb::kernels
