#include <algorithm>
#include <cmath>

#include "trainer/layers/kinds.hpp"

namespace plumb {

namespace {

/// y = (x - mean) / sqrt(variance + epsilon) * weight + bias, mean and variance by channel over all pixels of the
/// microbatch (Ioffe and Szegedy, 2015). Parameters: weight, bias; their gradients are made by I. Stash: mean, inverse
/// deviation.
template <class T>
class BatchNorm final : public Layer<T> {
 public:
  BatchNorm(const LayerSpec& spec, const MicrobatchShape& shape)
      : pixels_(shape.tokens() * spec.height * spec.columns),
        channels_(spec.channels),
        epsilon_(static_cast<T>(spec.epsilon)) {}

  void forward(const LayerPass<T>& pass) const override {
    T* mean = pass.stash_values(0);
    T* inverse = pass.stash_values(1);
    measure(pass.input, mean, inverse);
    if (pass.output == nullptr) return;
    const T* weight = pass.weights[0];
    const T* bias = pass.weights[1];
    for (std::int64_t p = 0; p < pixels_; ++p) {
      const T* x = pass.input + p * channels_;
      T* y = pass.output + p * channels_;
      for (std::int64_t c = 0; c < channels_; ++c) y[c] = (x[c] - mean[c]) * inverse[c] * weight[c] + bias[c];
    }
  }

  void input_grad(const LayerPass<T>& pass) const override {
    const T* mean = pass.stash_values(0);
    const T* inverse = pass.stash_values(1);
    T* sum = reinterpret_cast<T*>(pass.workspace);
    T* product = sum + channels_;
    std::fill_n(sum, 2 * channels_, T(0));
    for (std::int64_t p = 0; p < pixels_; ++p) {
      const T* x = pass.input + p * channels_;
      const T* dy = pass.output_grad + p * channels_;
      for (std::int64_t c = 0; c < channels_; ++c) sum[c] += dy[c];
      for (std::int64_t c = 0; c < channels_; ++c) product[c] += dy[c] * ((x[c] - mean[c]) * inverse[c]);
    }
    for (std::int64_t c = 0; c < channels_; ++c) {
      if (pass.gradients[0] != nullptr) {  // not frozen
        pass.gradients[0][c] += product[c];
        pass.gradients[1][c] += sum[c];
      }
      sum[c] /= static_cast<T>(pixels_);
      product[c] /= static_cast<T>(pixels_);
    }
    for (std::int64_t p = 0; p < pixels_; ++p) {
      const T* x = pass.input + p * channels_;
      const T* dy = pass.output_grad + p * channels_;
      T* dx = pass.input_grad + p * channels_;
      for (std::int64_t c = 0; c < channels_; ++c) {
        const T normal = (x[c] - mean[c]) * inverse[c];
        dx[c] = pass.weights[0][c] * inverse[c] * (dy[c] - sum[c] - normal * product[c]);
      }
    }
  }

  void weight_grad(const LayerPass<T>&) const override {}

 private:
  void measure(const T* input, T* mean, T* inverse) const {
    std::fill_n(mean, channels_, T(0));
    std::fill_n(inverse, channels_, T(0));
    for (std::int64_t p = 0; p < pixels_; ++p) {
      for (std::int64_t c = 0; c < channels_; ++c) mean[c] += input[p * channels_ + c];
    }
    for (std::int64_t c = 0; c < channels_; ++c) mean[c] /= static_cast<T>(pixels_);
    for (std::int64_t p = 0; p < pixels_; ++p) {
      const T* x = input + p * channels_;
      for (std::int64_t c = 0; c < channels_; ++c) inverse[c] += (x[c] - mean[c]) * (x[c] - mean[c]);
    }
    for (std::int64_t c = 0; c < channels_; ++c) {
      inverse[c] = T(1) / std::sqrt(inverse[c] / static_cast<T>(pixels_) + epsilon_);
    }
  }

  std::int64_t pixels_;  ///< of all images
  std::int64_t channels_;
  T epsilon_;
};

}  // namespace

template <class T>
std::unique_ptr<Layer<T>> make_batch_norm(const LayerSpec& spec, const MicrobatchShape& shape) {
  return std::make_unique<BatchNorm<T>>(spec, shape);
}

template std::unique_ptr<Layer<float>> make_batch_norm(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<Layer<double>> make_batch_norm(const LayerSpec&, const MicrobatchShape&);

}  // namespace plumb
