#include <cmath>

#include "trainer/layers/kinds.hpp"
#include "trainer/numbers/row.hpp"

namespace plumb {

namespace {

/// y = x / sqrt(mean(x^2) + epsilon) * weight, per token (Zhang and Sennrich, 2019).
/// Parameter: weight; its gradient is made by I. Stash: inverse deviation.
template <class T>
class RmsNorm final : public Layer<T> {
 public:
  RmsNorm(const LayerSpec& spec, const MicrobatchShape& shape)
      : tokens_(shape.tokens()), width_(spec.width), epsilon_(static_cast<T>(spec.epsilon)) {}

  void forward(const LayerPass<T>& pass) const override {
    const T* weight = pass.weights[0];
    for (std::int64_t t = 0; t < tokens_; ++t) {
      const T* x = pass.input + t * width_;
      const T square = row_sum<T>(width_, [x](auto j) { return x[j] * x[j]; }) / T(width_);
      const T inverse = T(1) / std::sqrt(square + epsilon_);
      pass.stash_values(0)[t] = inverse;
      if (pass.output == nullptr) continue;
      T* y = pass.output + t * width_;
      for (std::int64_t j = 0; j < width_; ++j) y[j] = x[j] * inverse * weight[j];
    }
  }

  void input_grad(const LayerPass<T>& pass) const override {
    const T* weight = pass.weights[0];
    T* weight_grad = pass.gradients[0];
    for (std::int64_t t = 0; t < tokens_; ++t) {
      const T* x = pass.input + t * width_;
      const T* dy = pass.output_grad + t * width_;
      T* dx = pass.input_grad + t * width_;
      const T inverse = pass.stash_values(0)[t];
      const T product = row_sum<T>(width_, [=](auto j) { return dy[j] * weight[j] * (x[j] * inverse); }) / T(width_);
      for (std::int64_t j = 0; j < width_; ++j) dx[j] = inverse * (dy[j] * weight[j] - x[j] * inverse * product);
      if (weight_grad == nullptr) continue;  // frozen
      for (std::int64_t j = 0; j < width_; ++j) weight_grad[j] += dy[j] * (x[j] * inverse);
    }
  }

  void weight_grad(const LayerPass<T>&) const override {}

 private:
  std::int64_t tokens_;
  std::int64_t width_;
  T epsilon_;
};

}  // namespace

template <class T>
std::unique_ptr<Layer<T>> make_rms_norm(const LayerSpec& spec, const MicrobatchShape& shape) {
  return std::make_unique<RmsNorm<T>>(spec, shape);
}

template std::unique_ptr<Layer<float>> make_rms_norm(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<Layer<double>> make_rms_norm(const LayerSpec&, const MicrobatchShape&);

}  // namespace plumb
