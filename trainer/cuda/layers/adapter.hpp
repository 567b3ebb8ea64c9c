#pragma once

#include <vector>

#include "models/network/lora.hpp"
#include "trainer/cuda/layers/dense.hpp"

namespace plumb::kernels {

/// `Adapter` (trainer/layers/adapter.hpp) on a device: y += s h B^T with h = x A^T. A rank of 0 does nothing. The scale
/// is that of the products which write h and its gradient, so that W multiplies only.
template <class T>
class CudaAdapter {
 public:
  CudaAdapter() = default;
  /// Where A and h are among the parameters and the stash of the layer; `lora` of rank above 0.
  CudaAdapter(const Dense<T>& beside, const Lora& lora, std::size_t parameter, std::size_t stash)
      : down_{beside.tokens, beside.inputs, lora.rank},
        up_{beside.tokens, lora.rank, beside.outputs},
        scale_(static_cast<float>(lora.alpha / static_cast<double>(lora.rank))),
        parameter_(parameter),
        stash_(stash) {}

  bool does_nothing() const { return up_.inputs == 0; }

  /// `y` may be null: only the stash is wanted.
  void forward(const CudaPass<T>& pass, const T* x, T* y) const {
    if (does_nothing()) return;
    T* h = pass.stash_values(stash_);
    run(pass, down_.forward_product(x, pass.weights[parameter_], nullptr, h), scale_);
    if (y != nullptr) add(pass, up_.forward_product(h, pass.weights[parameter_ + 1], nullptr, y));
  }
  /// dh = s dy B, dx += dh A; `dx` may be null. `dx_stride`: numbers between rows of dx, 0 when dense.
  void input_grad(const CudaPass<T>& pass, const T* dy, T* dx, std::int64_t dx_stride = 0) const {
    if (does_nothing()) return;
    T* dh = pass.stash_values(stash_ + 1);
    run(pass, up_.input_grad_product(dy, pass.weights[parameter_ + 1], dh), scale_);
    if (dx != nullptr) add(pass, down_.input_grad_product(dh, pass.weights[parameter_], dx, dx_stride));
  }
  /// dB += dy^T (s h), dA += dh^T x.
  void weight_grad(const CudaPass<T>& pass, const T* dy, const T* x) const {
    if (does_nothing()) return;
    up_.weight_grad(pass.device, dy, pass.stash_values(stash_), pass.gradients[parameter_ + 1], nullptr);
    down_.weight_grad(pass.device, pass.stash_values(stash_ + 1), x, pass.gradients[parameter_], nullptr);
  }

 private:
  static void run(const CudaPass<T>& pass, MatrixProduct product, float scale) {
    product.scale = scale;
    pass.device.products->run(product, pass.device.stream);
  }
  static void add(const CudaPass<T>& pass, MatrixProduct product) {
    product.accumulates = true;
    pass.device.products->run(product, pass.device.stream);
  }

  Dense<T> down_;  ///< x to h
  Dense<T> up_;    ///< h to y
  float scale_ = 0;
  std::size_t parameter_ = 0;
  std::size_t stash_ = 0;
};

/// As `make_adapters` does for the CPU's layers (trainer/layers/adapter.hpp).
template <class T>
std::vector<CudaAdapter<T>> make_cuda_adapters(const LayerSpec& spec, const std::vector<Dense<T>>& beside,
                                               std::size_t parameters, std::size_t stash) {
  std::vector<CudaAdapter<T>> adapters(beside.size());
  const std::size_t adapted = adapted_products(spec, spec.lora).size();
  for (std::size_t i = 0; i < adapted; ++i) {
    adapters[i] = CudaAdapter<T>(beside[i], spec.lora, parameters + 2 * i, stash + 2 * i);
  }
  return adapters;
}

}  // namespace plumb::kernels
