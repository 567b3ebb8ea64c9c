#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/network/lora.hpp"
#include "trainer/layers/layer.hpp"
#include "trainer/layers/projection.hpp"

namespace plumb {

/// The adapter beside one product of a layer (LoRA, Hu et al. 2021): y += s h B^T with h = x A^T and s = alpha / rank.
/// A rank of 0 does nothing. A and B are parameters of the layer, one after the other; h and its gradient tensors of
/// its stash, likewise.
class Adapter {
 public:
  Adapter() = default;
  /// Where A and h are among the parameters and the stash of the layer; `lora` of rank above 0.
  Adapter(const Projection& beside, const Lora& lora, std::size_t parameter, std::size_t stash);

  /// `y` may be null: only the stash is wanted.
  template <class T>
  void forward(const LayerPass<T>& pass, const T* x, T* y) const;
  /// dh = s dy B, dx += dh A; `dx` may be null. `dx_stride`: numbers between rows of dx, 0 when dense.
  template <class T>
  void input_grad(const LayerPass<T>& pass, const T* dy, T* dx, std::int64_t dx_stride = 0) const;
  /// dB += s dy^T h, dA += dh^T x.
  template <class T>
  void weight_grad(const LayerPass<T>& pass, const T* dy, const T* x) const;

 private:
  Projection down_;  ///< x to h
  Projection up_;    ///< h to y
  double scale_ = 0;
  std::size_t parameter_ = 0;
  std::size_t stash_ = 0;
};

/// What a layer has of adapters, in the order of its products: `beside` are those with weights, each at most once.
/// `parameters`, `stash`: how many the layer has itself. A product without one gets an adapter that does nothing.
std::vector<Adapter> make_adapters(const LayerSpec& spec, const std::vector<Projection>& beside, std::size_t parameters,
                                   std::size_t stash);

}  // namespace plumb
