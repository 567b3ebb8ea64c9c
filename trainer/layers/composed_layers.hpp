#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "models/network/layer_shape.hpp"
#include "trainer/layers/adapter.hpp"

namespace plumb {

// Layers that are made of products, written once for all back ends. `A` is the arithmetic of a back end:
//
//   A::Number     of weights and activations
//   A::Pass       what a pass works on: `LayerPass`, or what extends it
//   A::Interface  the class of a layer
//   A::Product    y = x W^T + b with its gradients, as `Projection` has them

/// y = x W^T + b. Parameters: weight, bias (optional), those of its adapter. Stash: that of its adapter; input and
/// output gradient stay for W.
template <class A>
class LinearLayer final : public A::Interface {
 public:
  using Pass = typename A::Pass;

  LinearLayer(const LayerSpec& spec, const MicrobatchShape& shape)
      : product_{shape.tokens(), spec.width, spec.outputs},
        has_bias_(spec.bias),
        adapter_(make_adapters<A>(spec, {product_}, spec.bias ? 2 : 1, 0).front()) {}

  void forward(const Pass& pass) const override {
    if (pass.output != nullptr) {
      product_.forward(pass, pass.input, {pass.weights[0], has_bias_ ? pass.weights[1] : nullptr}, pass.output);
    }
    adapter_.forward(pass, pass.input, pass.output);
  }
  void input_grad(const Pass& pass) const override {
    if (pass.input_grad != nullptr) product_.input_grad(pass, pass.output_grad, pass.weights[0], pass.input_grad);
    adapter_.input_grad(pass, pass.output_grad, pass.input_grad);
  }
  void weight_grad(const Pass& pass) const override {
    product_.weight_grad(pass, pass.output_grad, pass.input, pass.gradients[0],
                         has_bias_ ? pass.gradients[1] : nullptr);
    adapter_.weight_grad(pass, pass.output_grad, pass.input);
  }
  std::int64_t scratch_bytes() const override { return product_.scratch_bytes(); }

 private:
  typename A::Product product_;
  bool has_bias_;
  Adapter<A> adapter_;
};

/// Rows q | k | v: queries of the input, keys and values of the second input. Parameters: weight [3 width, width], bias
/// (optional). Stash: none, but both inputs and the output gradient stay for W.
template <class A>
class CrossProjectionLayer final : public A::Interface {
 public:
  using T = typename A::Number;
  using Pass = typename A::Pass;

  CrossProjectionLayer(const LayerSpec& spec, const MicrobatchShape& shape)
      : queries_{shape.tokens(), spec.width, spec.width, 3 * spec.width},
        keys_{shape.tokens(), spec.width, 2 * spec.width, 3 * spec.width},
        rows_{shape.tokens(), spec.width, 3 * spec.width},
        has_bias_(spec.bias) {}

  void forward(const Pass& pass) const override {
    if (pass.output == nullptr) return;
    const T* bias = has_bias_ ? pass.weights[1] : nullptr;
    queries_.forward(pass, pass.input, {pass.weights[0], bias}, pass.output);
    keys_.forward(pass, pass.from, {keys(pass.weights[0]), bias == nullptr ? nullptr : bias + width()},
                  pass.output + width());
  }

  void input_grad(const Pass& pass) const override {
    if (pass.input_grad != nullptr) queries_.input_grad(pass, pass.output_grad, pass.weights[0], pass.input_grad);
    keys_.input_grad(pass, pass.output_grad + width(), keys(pass.weights[0]), pass.from_grad);
  }

  void weight_grad(const Pass& pass) const override {
    auto* weight = pass.gradients[0];
    queries_.weight_grad(pass, pass.output_grad, pass.input, weight, nullptr);
    keys_.weight_grad(pass, pass.output_grad + width(), pass.from, weight == nullptr ? nullptr : keys(weight), nullptr);
    if (has_bias_) rows_.weight_grad(pass, pass.output_grad, pass.input, nullptr, pass.gradients[1]);
  }

  std::int64_t scratch_bytes() const override { return rows_.scratch_bytes(); }

 private:
  std::int64_t width() const { return queries_.outputs; }
  /// The rows of keys and values in the one matrix of weights.
  template <class U>
  U* keys(U* weight) const {
    return weight + width() * width();
  }

  typename A::Product queries_;
  typename A::Product keys_;
  typename A::Product rows_;  ///< q | k | v, for the bias
  bool has_bias_;
};

/// Two products with an activation f in between; gated: y = (f(x Wg) * (x Wu)) W2, with Wg and Wu stacked in one
/// matrix, gates first.
/// Parameters: in weight, in bias (optional), out weight, out bias (optional), those of adapters.
/// Stash: inner (I), activated (W), gradient of inner (made by I), that of adapters.
///
/// `Step(spec, shape)` is the activation of a back end with the product that it may be fused with:
///
///   forward(pass, in, bias, adapter)     makes inner and activated, of the input
///   input_grad(pass, out, weight, adapter)  makes the gradient of inner, of that of the output
template <class A, class Step>
class MlpLayer final : public A::Interface {
 public:
  using T = typename A::Number;
  using Pass = typename A::Pass;

  MlpLayer(const LayerSpec& spec, const MicrobatchShape& shape)
      : in_{shape.tokens(), spec.width, spec.gated ? 2 * spec.hidden : spec.hidden},
        out_{shape.tokens(), spec.hidden, spec.width},
        step_(spec),
        has_bias_(spec.bias),
        adapters_(make_adapters<A>(spec, {in_, out_}, spec.bias ? 4 : 2, 3)) {}

  void forward(const Pass& pass) const override {
    step_.forward(pass, in_, has_bias_ ? pass.weights[1] : nullptr, adapters_[0]);
    const T* activated = pass.stash_values(1);
    if (pass.output != nullptr) {
      out_.forward(pass, activated, {pass.weights[out_weight()], has_bias_ ? pass.weights[3] : nullptr}, pass.output);
    }
    adapters_[1].forward(pass, activated, pass.output);
  }

  void input_grad(const Pass& pass) const override {
    step_.input_grad(pass, out_, pass.weights[out_weight()], adapters_[1]);
    const T* inner_grad = pass.stash_values(2);
    in_.input_grad(pass, inner_grad, pass.weights[0], pass.input_grad);
    adapters_[0].input_grad(pass, inner_grad, pass.input_grad);
  }

  void weight_grad(const Pass& pass) const override {
    out_.weight_grad(pass, pass.output_grad, pass.stash_values(1), pass.gradients[out_weight()],
                     has_bias_ ? pass.gradients[3] : nullptr);
    in_.weight_grad(pass, pass.stash_values(2), pass.input, pass.gradients[0], has_bias_ ? pass.gradients[1] : nullptr);
    adapters_[1].weight_grad(pass, pass.output_grad, pass.stash_values(1));
    adapters_[0].weight_grad(pass, pass.stash_values(2), pass.input);
  }

  std::int64_t scratch_bytes() const override { return std::max(in_.scratch_bytes(), out_.scratch_bytes()); }

 private:
  std::size_t out_weight() const { return has_bias_ ? 2 : 1; }

  typename A::Product in_;
  typename A::Product out_;
  Step step_;
  bool has_bias_;
  std::vector<Adapter<A>> adapters_;  ///< in, out
};

/// Multi-head self-attention with its projections; heads share keys and values in groups when there are fewer of them.
/// Parameters: qkv weight, qkv bias (optional), out weight, out bias (optional), those of adapters.
/// Stash: qkv (rotated, I), log sums (I), attended (W), gradient of qkv (made by I), that of adapters.
///
/// `Core(spec, shape)` is the attention of a back end between the projections:
///
///   forward(pass)                     turns qkv, keeps log sums and attended; keys and values for later slices
///   attended_grad(pass)               where the gradient of attended is put
///   input_grad(pass, attended_grad)   makes the gradient of qkv
///   scratch_bytes()
template <class A, class Core>
class AttentionLayer final : public A::Interface {
 public:
  using T = typename A::Number;
  using Pass = typename A::Pass;

  AttentionLayer(const LayerSpec& spec, const MicrobatchShape& shape)
      : qkv_{shape.tokens(), spec.width, qkv_width(spec)},
        out_{shape.tokens(), spec.width, spec.width},
        core_(spec, shape),
        has_bias_(spec.bias),
        has_qkv_bias_(spec.bias || spec.qkv_bias),
        adapters_(make_adapters<A>(spec, {qkv_, out_}, out_weight() + (has_bias_ ? 2 : 1), 4)) {}

  void forward(const Pass& pass) const override {
    T* qkv = pass.stash_values(0);
    qkv_.forward(pass, pass.input, {pass.weights[0], has_qkv_bias_ ? pass.weights[1] : nullptr}, qkv);
    adapters_[0].forward(pass, pass.input, qkv);
    core_.forward(pass);
    const T* attended = pass.stash_values(2);
    if (pass.output != nullptr) {
      const T* bias = has_bias_ ? pass.weights[out_weight() + 1] : nullptr;
      out_.forward(pass, attended, {pass.weights[out_weight()], bias}, pass.output);
    }
    adapters_[1].forward(pass, attended, pass.output);
  }

  void input_grad(const Pass& pass) const override {
    T* attended_grad = core_.attended_grad(pass);
    out_.input_grad(pass, pass.output_grad, pass.weights[out_weight()], attended_grad);
    adapters_[1].input_grad(pass, pass.output_grad, attended_grad);
    core_.input_grad(pass, attended_grad);
    const T* qkv_grad = pass.stash_values(3);
    qkv_.input_grad(pass, qkv_grad, pass.weights[0], pass.input_grad);
    adapters_[0].input_grad(pass, qkv_grad, pass.input_grad);
  }

  void weight_grad(const Pass& pass) const override {
    out_.weight_grad(pass, pass.output_grad, pass.stash_values(2), pass.gradients[out_weight()],
                     has_bias_ ? pass.gradients[out_weight() + 1] : nullptr);
    qkv_.weight_grad(pass, pass.stash_values(3), pass.input, pass.gradients[0],
                     has_qkv_bias_ ? pass.gradients[1] : nullptr);
    adapters_[1].weight_grad(pass, pass.output_grad, pass.stash_values(2));
    adapters_[0].weight_grad(pass, pass.stash_values(3), pass.input);
  }

  std::int64_t scratch_bytes() const override {
    return std::max({core_.scratch_bytes(), qkv_.scratch_bytes(), out_.scratch_bytes()});
  }

 private:
  std::size_t out_weight() const { return has_qkv_bias_ ? 2 : 1; }

  typename A::Product qkv_;
  typename A::Product out_;
  Core core_;
  bool has_bias_;
  bool has_qkv_bias_;
  std::vector<Adapter<A>> adapters_;  ///< qkv, out
};

}  // namespace plumb
