#include <cmath>

#include "trainer/layers/kinds.hpp"
#include "trainer/numbers/row.hpp"

namespace plumb {

namespace {

/// y = (x - mean) / sqrt(variance + epsilon) * weight + bias, per token (Ba et al., 2016).
/// Parameters: weight, bias (optional); their gradients are made by I. Stash: mean, inverse deviation.
template <class T>
class LayerNorm final : public Layer<T> {
 public:
  LayerNorm(const LayerSpec& spec, const MicrobatchShape& shape)
      : tokens_(shape.tokens()), width_(spec.width), epsilon_(static_cast<T>(spec.epsilon)), has_bias_(spec.bias) {}

  void forward(const LayerPass<T>& pass) const override {
    const T* weight = pass.weights[0];
    const T* bias = has_bias_ ? pass.weights[1] : nullptr;
    for (std::int64_t t = 0; t < tokens_; ++t) {
      const T* x = pass.input + t * width_;
      const T mean = row_sum<T>(width_, [x](auto j) { return x[j]; }) / T(width_);
      const T variance = row_sum<T>(width_, [x, mean](auto j) { return (x[j] - mean) * (x[j] - mean); }) / T(width_);
      const T inverse = T(1) / std::sqrt(variance + epsilon_);
      pass.stash_values(0)[t] = mean;
      pass.stash_values(1)[t] = inverse;
      if (pass.output == nullptr) continue;
      T* y = pass.output + t * width_;
      for (std::int64_t j = 0; j < width_; ++j) y[j] = (x[j] - mean) * inverse * weight[j];
      for (std::int64_t j = 0; has_bias_ && j < width_; ++j) y[j] += bias[j];
    }
  }

  void input_grad(const LayerPass<T>& pass) const override {
    const T* weight = pass.weights[0];
    for (std::int64_t t = 0; t < tokens_; ++t) {
      const T* x = pass.input + t * width_;
      const T* dy = pass.output_grad + t * width_;
      T* dx = pass.input_grad + t * width_;
      const T mean = pass.stash_values(0)[t];
      const T inverse = pass.stash_values(1)[t];
      const auto normal = [=](auto j) { return (x[j] - mean) * inverse; };
      const T sum = row_sum<T>(width_, [=](auto j) { return dy[j] * weight[j]; }) / T(width_);
      const T product = row_sum<T>(width_, [=](auto j) { return dy[j] * weight[j] * normal(j); }) / T(width_);
      for (std::int64_t j = 0; j < width_; ++j) dx[j] = inverse * (dy[j] * weight[j] - sum - normal(j) * product);
      T* weight_grad = pass.gradients[0];
      if (weight_grad == nullptr) continue;  // frozen
      for (std::int64_t j = 0; j < width_; ++j) weight_grad[j] += dy[j] * normal(j);
      if (!has_bias_) continue;
      T* bias_grad = pass.gradients[1];
      for (std::int64_t j = 0; j < width_; ++j) bias_grad[j] += dy[j];
    }
  }

  void weight_grad(const LayerPass<T>&) const override {}

 private:
  std::int64_t tokens_;
  std::int64_t width_;
  T epsilon_;
  bool has_bias_;
};

}  // namespace

template <class T>
std::unique_ptr<Layer<T>> make_layer_norm(const LayerSpec& spec, const MicrobatchShape& shape) {
  return std::make_unique<LayerNorm<T>>(spec, shape);
}

template std::unique_ptr<Layer<float>> make_layer_norm(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<Layer<double>> make_layer_norm(const LayerSpec&, const MicrobatchShape&);

}  // namespace plumb
