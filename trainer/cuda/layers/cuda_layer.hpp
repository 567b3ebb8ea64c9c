#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "trainer/cuda/kernels/products/matrix_products.hpp"
#include "trainer/cuda/kernels/stream.hpp"
#include "trainer/layers/layer.hpp"
#include "trainer/numbers/number.hpp"

namespace plumb::kernels {

class AttentionUnits;
class ConvolutionUnits;

/// Where work goes, and what it may use meanwhile. One pass at a time per scratch.
struct DeviceContext {
  Stream stream = nullptr;
  MatrixProducts* products = nullptr;
  std::byte* scratch = nullptr;  ///< at a multiple of 256 bytes, as large as the layers ask for; not counted memory
  AttentionUnits* attention = nullptr;       ///< in bf16; null: our kernels
  ConvolutionUnits* convolutions = nullptr;  ///< likewise
};

/// What one pass of one layer computes on, in a device's memory. Weights and activations are T, gradients of parameters
/// and all statistics are floats.
template <class T>
struct CudaPass : LayerPass<T, float> {
  DeviceContext device;
  /// Norms. F: what the input grows by first, rounded, in place. I: what the input gradient grows by at last.
  const T* added = nullptr;

  float* statistics(std::size_t tensor) const { return reinterpret_cast<float*>(this->stash[tensor]); }
};

/// A layer on a device, T = float or BFloat16. Everything is put on the stream of the pass; nothing is allocated and
/// nobody waits.
template <class T>
class CudaLayer : public LayerOf<CudaPass<T>> {
 public:
  /// Whether F and I take `CudaPass::added`.
  virtual bool adds() const { return false; }
};

}  // namespace plumb::kernels
