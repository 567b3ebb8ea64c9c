#include <cmath>
#include <numbers>

#include "models/network/layer_shape.hpp"
#include "trainer/layers/adapter.hpp"
#include "trainer/layers/exponential.hpp"
#include "trainer/layers/kinds.hpp"
#include "trainer/layers/projection.hpp"

namespace plumb {

namespace {

// GELU in its tanh form (Hendrycks and Gimpel, 2016; GPT-2): x s(u) with s the logistic function and
// u = 2 sqrt(2/pi) (x + 0.044715 x^3), since (1 + tanh(u/2)) / 2 = s(u).
constexpr double kGeluScale = 1.5957691216057307118;
constexpr double kGeluCubic = 0.044715;

/// An activation f and its slope f'.
template <Activation kActivation>
struct Curve;

template <>
struct Curve<Activation::kGeluTanh> {
  template <class T>
  static T at(T x) {
    return x * logistic(T(kGeluScale) * (x + T(kGeluCubic) * x * x * x));
  }
  template <class T>
  static T slope(T x) {
    const T s = logistic(T(kGeluScale) * (x + T(kGeluCubic) * x * x * x));
    return s + x * s * (T(1) - s) * T(kGeluScale) * (T(1) + T(3 * kGeluCubic) * x * x);
  }
};

/// x Phi(x), where Phi is the distribution function of the normal distribution.
template <>
struct Curve<Activation::kGelu> {
  template <class T>
  static T share(T x) {
    return T(0.5) * std::erfc(-x / std::numbers::sqrt2_v<T>);
  }
  template <class T>
  static T at(T x) {
    return x * share(x);
  }
  template <class T>
  static T slope(T x) {
    constexpr T kDensity = std::numbers::inv_sqrtpi_v<T> / std::numbers::sqrt2_v<T>;
    return share(x) + x * kDensity * exponential(T(-0.5) * x * x);
  }
};

template <>
struct Curve<Activation::kRelu> {
  template <class T>
  static T at(T x) {
    return x > T(0) ? x : T(0);
  }
  template <class T>
  static T slope(T x) {
    return x > T(0) ? T(1) : T(0);
  }
};

template <>
struct Curve<Activation::kSilu> {
  template <class T>
  static T at(T x) {
    return x * logistic(x);
  }
  template <class T>
  static T slope(T x) {
    const T s = logistic(x);
    return s + x * s * (T(1) - s);
  }
};

/// Two projections with an activation in between; gated: y = (f(x Wg) * (x Wu)) W2, with Wg and Wu stacked in one
/// matrix, gates first.
/// Parameters: in weight, in bias (optional), out weight, out bias (optional), those of adapters.
/// Stash: inner (I), activated (W), gradient of inner (made by I), that of adapters.
template <class T, Activation kActivation, bool gated>
class Mlp final : public Layer<T> {
 public:
  Mlp(const LayerSpec& spec, const MicrobatchShape& shape)
      : in_{shape.tokens(), spec.width, gated ? 2 * spec.hidden : spec.hidden},
        out_{shape.tokens(), spec.hidden, spec.width},
        has_bias_(spec.bias),
        adapters_(make_adapters(spec, {in_, out_}, spec.bias ? 4 : 2, 3)) {}

  void forward(const LayerPass<T>& pass) const override {
    T* inner = pass.stash_values(0);
    T* activated = pass.stash_values(1);
    in_.forward(pass.input, pass.weights[0], has_bias_ ? pass.weights[1] : nullptr, inner);
    adapters_[0].forward(pass, pass.input, inner);
    activate(inner, activated);
    if (pass.output != nullptr) {
      out_.forward(static_cast<const T*>(activated), pass.weights[out_weight()], has_bias_ ? pass.weights[3] : nullptr,
                   pass.output);
    }
    adapters_[1].forward(pass, static_cast<const T*>(activated), pass.output);
  }

  /// The gradient of the activated values lands where that of the inner ones will be: its second half when gated.
  void input_grad(const LayerPass<T>& pass) const override {
    const T* inner = pass.stash_values(0);
    T* inner_grad = pass.stash_values(2);
    T* activated_grad = gated ? inner_grad + out_.inputs : inner_grad;
    out_.input_grad(pass.output_grad, pass.weights[out_weight()], activated_grad, in_.outputs);
    adapters_[1].input_grad(pass, pass.output_grad, activated_grad, in_.outputs);
    for (std::int64_t t = 0; t < in_.tokens; ++t) {
      activation_grad(inner + t * in_.outputs, inner_grad + t * in_.outputs);
    }
    in_.input_grad(static_cast<const T*>(inner_grad), pass.weights[0], pass.input_grad);
    adapters_[0].input_grad(pass, static_cast<const T*>(inner_grad), pass.input_grad);
  }

  void weight_grad(const LayerPass<T>& pass) const override {
    out_.weight_grad(pass.output_grad, static_cast<const T*>(pass.stash_values(1)), pass.gradients[out_weight()],
                     has_bias_ ? pass.gradients[3] : nullptr);
    in_.weight_grad(static_cast<const T*>(pass.stash_values(2)), pass.input, pass.gradients[0],
                    has_bias_ ? pass.gradients[1] : nullptr);
    adapters_[1].weight_grad(pass, pass.output_grad, static_cast<const T*>(pass.stash_values(1)));
    adapters_[0].weight_grad(pass, static_cast<const T*>(pass.stash_values(2)), pass.input);
  }

 private:
  std::size_t out_weight() const { return has_bias_ ? 2 : 1; }

  void activate(const T* inner, T* activated) const {
    const std::int64_t hidden = out_.inputs;
    for (std::int64_t t = 0; t < in_.tokens; ++t) {
      const T* x = inner + t * in_.outputs;
      T* y = activated + t * hidden;
      for (std::int64_t j = 0; j < hidden; ++j) {
        if constexpr (gated) {
          y[j] = Curve<kActivation>::at(x[j]) * x[hidden + j];
        } else {
          y[j] = Curve<kActivation>::at(x[j]);
        }
      }
    }
  }

  /// One row, in place: gradient of the activated values to that of the inner ones.
  void activation_grad(const T* x, T* gradient) const {
    const std::int64_t hidden = out_.inputs;
    for (std::int64_t j = 0; j < hidden; ++j) {
      if constexpr (gated) {
        const T activated_grad = gradient[hidden + j];
        gradient[j] = activated_grad * x[hidden + j] * Curve<kActivation>::slope(x[j]);
        gradient[hidden + j] = activated_grad * Curve<kActivation>::at(x[j]);
      } else {
        gradient[j] *= Curve<kActivation>::slope(x[j]);
      }
    }
  }

  Projection in_;
  Projection out_;
  bool has_bias_;
  std::vector<Adapter> adapters_;  ///< in, out
};

template <class T, Activation kActivation>
std::unique_ptr<Layer<T>> make(const LayerSpec& spec, const MicrobatchShape& shape) {
  if (spec.gated) return std::make_unique<Mlp<T, kActivation, true>>(spec, shape);
  return std::make_unique<Mlp<T, kActivation, false>>(spec, shape);
}

}  // namespace

template <class T>
std::unique_ptr<Layer<T>> make_mlp(const LayerSpec& spec, const MicrobatchShape& shape) {
  switch (activation_of(spec)) {
    case Activation::kGelu:
      return make<T, Activation::kGelu>(spec, shape);
    case Activation::kRelu:
      return make<T, Activation::kRelu>(spec, shape);
    case Activation::kSilu:
      return make<T, Activation::kSilu>(spec, shape);
    default:
      return make<T, Activation::kGeluTanh>(spec, shape);
  }
}

template std::unique_ptr<Layer<float>> make_mlp(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<Layer<double>> make_mlp(const LayerSpec&, const MicrobatchShape&);

}  // namespace plumb
