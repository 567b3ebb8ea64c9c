#include <cmath>
#include <numbers>

#include "models/network/layer_shape.hpp"
#include "trainer/layers/cpu_arithmetic.hpp"
#include "trainer/layers/exponential.hpp"
#include "trainer/layers/kinds.hpp"

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

/// f, applied to rows of one or two halves.
template <class T, Activation kActivation, bool gated>
struct MlpActivationRows {
  std::int64_t hidden;
  std::int64_t stride;  ///< numbers between rows before f

  void activate(std::int64_t tokens, const T* inner, T* activated) const {
    for (std::int64_t t = 0; t < tokens; ++t) {
      const T* x = inner + t * stride;
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
  void grad(const T* x, T* gradient) const {
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
};

/// The activation of an `MlpLayer`.
template <class T, Activation kActivation, bool gated>
class MlpActivation {
 public:
  explicit MlpActivation(const LayerSpec& spec) : rows_{spec.hidden, gated ? 2 * spec.hidden : spec.hidden} {}

  void forward(const LayerPass<T>& pass, const Projection<T>& in, const T* bias,
               const Adapter<CpuArithmetic<T>>& adapter) const {
    T* inner = pass.stash_values(0);
    in.forward(pass, pass.input, {pass.weights[0], bias}, inner);
    adapter.forward(pass, pass.input, inner);
    rows_.activate(in.tokens, inner, pass.stash_values(1));
  }

  /// The gradient of the activated values lands where that of the inner ones will be: its second half when gated.
  void input_grad(const LayerPass<T>& pass, const Projection<T>& out, const T* weight,
                  const Adapter<CpuArithmetic<T>>& adapter) const {
    const T* inner = pass.stash_values(0);
    T* inner_grad = pass.stash_values(2);
    T* activated_grad = gated ? inner_grad + rows_.hidden : inner_grad;
    out.input_grad(pass, pass.output_grad, weight, activated_grad, {.stride = rows_.stride});
    adapter.input_grad(pass, pass.output_grad, activated_grad, rows_.stride);
    for (std::int64_t t = 0; t < out.tokens; ++t) rows_.grad(inner + t * rows_.stride, inner_grad + t * rows_.stride);
  }

 private:
  MlpActivationRows<T, kActivation, gated> rows_;
};

template <class T, Activation kActivation>
std::unique_ptr<Layer<T>> make(const LayerSpec& spec, const MicrobatchShape& shape) {
  if (spec.gated) {
    return std::make_unique<MlpLayer<CpuArithmetic<T>, MlpActivation<T, kActivation, true>>>(spec, shape);
  }
  return std::make_unique<MlpLayer<CpuArithmetic<T>, MlpActivation<T, kActivation, false>>>(spec, shape);
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
