#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/network/lora.hpp"
#include "trainer/layers/product_terms.hpp"

namespace plumb {

/// The adapter beside one product of a layer (LoRA, Hu et al. 2021): y += s h B^T with h = x A^T and s = alpha / rank.
/// A rank of 0 does nothing. A and B are parameters of the layer, one after the other; s h and its gradient tensors of
/// its stash, likewise: W then has dB += dy^T (s h), and the scale is applied to few numbers.
///
/// `A`: the arithmetic of a back end (composed_layers.hpp).
template <class A>
class Adapter {
 public:
  using T = typename A::Number;
  using Pass = typename A::Pass;
  using Product = typename A::Product;

  Adapter() = default;
  /// Where A and h are among the parameters and the stash of the layer; `lora` of rank above 0.
  Adapter(const Product& beside, const Lora& lora, std::size_t parameter, std::size_t stash)
      : down_{beside.tokens, beside.inputs, lora.rank},
        up_{beside.tokens, lora.rank, beside.outputs},
        scale_{.scale = lora.alpha / static_cast<double>(lora.rank)},
        parameter_(parameter),
        stash_(stash) {}

  bool does_nothing() const { return up_.inputs == 0; }

  /// Adds to `y`, which may be null: only the stash is wanted.
  void forward(const Pass& pass, const T* x, T* y) const {
    if (does_nothing()) return;
    T* h = pass.stash_values(stash_);
    down_.forward(pass, x, {pass.weights[parameter_]}, h, scale_);
    if (y != nullptr) up_.forward(pass, h, {pass.weights[parameter_ + 1]}, y, {.adds = true});
  }
  /// Makes dh = s dy B and adds dh A to `dx`, which may be null. `dx_stride`: numbers between rows of dx, 0 when dense.
  void input_grad(const Pass& pass, const T* dy, T* dx, std::int64_t dx_stride = 0) const {
    if (does_nothing()) return;
    T* dh = pass.stash_values(stash_ + 1);
    up_.input_grad(pass, dy, pass.weights[parameter_ + 1], dh, scale_);
    if (dx == nullptr) return;
    down_.input_grad(pass, dh, pass.weights[parameter_], dx, {.adds = true, .stride = dx_stride});
  }
  /// Adds dy^T (s h) to dB and dh^T x to dA.
  void weight_grad(const Pass& pass, const T* dy, const T* x) const {
    if (does_nothing()) return;
    up_.weight_grad(pass, dy, pass.stash_values(stash_), pass.gradients[parameter_ + 1], nullptr);
    down_.weight_grad(pass, pass.stash_values(stash_ + 1), x, pass.gradients[parameter_], nullptr);
  }

 private:
  Product down_;  ///< x to h
  Product up_;    ///< h to y
  ProductTerms scale_;
  std::size_t parameter_ = 0;
  std::size_t stash_ = 0;
};

/// What a layer has of adapters, in the order of its products: `beside` are those with weights, each at most once.
/// `parameters`, `stash`: how many the layer has itself. A product without one gets an adapter that does nothing.
template <class A>
std::vector<Adapter<A>> make_adapters(const LayerSpec& spec, const std::vector<typename A::Product>& beside,
                                      std::size_t parameters, std::size_t stash) {
  std::vector<Adapter<A>> adapters(beside.size());
  const std::size_t adapted = adapted_products(spec, spec.lora).size();
  for (std::size_t i = 0; i < adapted; ++i) {
    adapters[i] = Adapter<A>(beside[i], spec.lora, parameters + 2 * i, stash + 2 * i);
  }
  return adapters;
}

}  // namespace plumb
