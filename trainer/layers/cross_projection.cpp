#include <algorithm>

#include "trainer/layers/kinds.hpp"
#include "trainer/layers/matrix.hpp"

namespace plumb {

namespace {

/// Rows q | k | v: queries of the input, keys and values of the second input. Parameters: weight [3 width, width], bias
/// (optional). Stash: none, but both inputs and the output gradient stay for W.
template <class T>
class CrossProjection final : public Layer<T> {
 public:
  CrossProjection(const LayerSpec& spec, const MicrobatchShape& shape)
      : tokens_(shape.tokens()), width_(spec.width), has_bias_(spec.bias) {}

  void forward(const LayerPass<T>& pass) const override {
    if (pass.output == nullptr) return;
    multiply_transposed<T>(rows(pass.input), queries(pass.weights[0]), columns(pass.output, 0, width_));
    multiply_transposed<T>(rows(pass.from), keys(pass.weights[0]), columns(pass.output, width_, 2 * width_));
    for (std::int64_t t = 0; has_bias_ && t < tokens_; ++t) {
      for (std::int64_t j = 0; j < 3 * width_; ++j) pass.output[t * 3 * width_ + j] += pass.weights[1][j];
    }
  }

  void input_grad(const LayerPass<T>& pass) const override {
    if (pass.input_grad != nullptr) {
      multiply<T>(columns(pass.output_grad, 0, width_), queries(pass.weights[0]), rows(pass.input_grad));
    }
    multiply<T>(columns(pass.output_grad, width_, 2 * width_), keys(pass.weights[0]), rows(pass.from_grad));
  }

  void weight_grad(const LayerPass<T>& pass) const override {
    accumulate_outer<T>(columns(pass.output_grad, 0, width_), rows(pass.input), queries(pass.gradients[0]));
    accumulate_outer<T>(columns(pass.output_grad, width_, 2 * width_), rows(pass.from), keys(pass.gradients[0]));
    for (std::int64_t t = 0; has_bias_ && t < tokens_; ++t) {
      for (std::int64_t j = 0; j < 3 * width_; ++j) pass.gradients[1][j] += pass.output_grad[t * 3 * width_ + j];
    }
  }

 private:
  template <class U>
  auto rows(U* value) const {
    return matrix(value, tokens_, width_);
  }
  template <class U>
  auto columns(U* value, std::int64_t first, std::int64_t count) const {
    return matrix(value + first, tokens_, count, 3 * width_);
  }
  template <class U>
  auto queries(U* weight) const {
    return matrix(weight, width_, width_);
  }
  template <class U>
  auto keys(U* weight) const {
    return matrix(weight + width_ * width_, 2 * width_, width_);
  }

  std::int64_t tokens_;
  std::int64_t width_;
  bool has_bias_;
};

}  // namespace

template <class T>
std::unique_ptr<Layer<T>> make_cross_projection(const LayerSpec& spec, const MicrobatchShape& shape) {
  return std::make_unique<CrossProjection<T>>(spec, shape);
}

template std::unique_ptr<Layer<float>> make_cross_projection(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<Layer<double>> make_cross_projection(const LayerSpec&, const MicrobatchShape&);

}  // namespace plumb
