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

/// What one pass of one layer computes on: `LayerPass` (trainer/layers/layer.hpp) in a device's memory. Weights and
/// activations are T, gradients of parameters and all statistics are floats.
template <class T>
struct CudaPass {
  DeviceContext device;
  std::span<const T* const> weights;
  std::span<float* const> gradients;
  std::span<std::byte* const> stash;
  const T* input = nullptr;
  const T* from = nullptr;
  T* output = nullptr;
  const T* output_grad = nullptr;
  T* input_grad = nullptr;
  T* from_grad = nullptr;
  std::byte* workspace = nullptr;
  MicrobatchIds ids;                ///< in memory that the device reads
  double* loss = nullptr;           ///< ... and writes
  std::int64_t* correct = nullptr;  ///< likewise, or null
  double loss_tokens = 0;
  std::span<const EarlierKeys<T>> earlier;
  const T* key_grads = nullptr;
  T* keys = nullptr;  ///< attention, F: where its keys and values are copied to, a row per token; or null
  /// Norms. F: what the input grows by first, rounded, in place. I: what the input gradient grows by at last.
  const T* added = nullptr;

  T* stash_values(std::size_t tensor) const { return reinterpret_cast<T*>(stash[tensor]); }
  float* statistics(std::size_t tensor) const { return reinterpret_cast<float*>(stash[tensor]); }
};

/// `Layer` (trainer/layers/layer.hpp) on a device, T = float or BFloat16. Everything is put on the stream of the pass;
/// nothing is allocated and nobody waits.
template <class T>
class CudaLayer {
 public:
  virtual ~CudaLayer() = default;
  virtual void forward(const CudaPass<T>& pass) const = 0;
  virtual void input_grad(const CudaPass<T>& pass) const = 0;
  virtual void weight_grad(const CudaPass<T>& pass) const = 0;
  /// Of the context's scratch that a pass needs.
  virtual std::int64_t scratch_bytes() const { return 0; }
  /// Whether F and I take `CudaPass::added`.
  virtual bool adds() const { return false; }
};

}  // namespace plumb::kernels
