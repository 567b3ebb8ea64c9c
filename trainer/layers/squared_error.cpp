#include <algorithm>

#include "trainer/layers/kinds.hpp"

namespace plumb {

namespace {

/// Loss: the sum of (y - target)^2 / 2 over all numbers, over loss_tokens. Stash: its gradient.
template <class T>
class SquaredError final : public Layer<T> {
 public:
  SquaredError(const LayerSpec& spec, const MicrobatchShape& shape) : count_(shape.tokens() * spec.width) {}

  void forward(const LayerPass<T>& pass) const override {
    T* error = pass.stash_values(0);
    double loss = 0;
    for (std::int64_t i = 0; i < count_; ++i) {
      const T difference = pass.input[i] - static_cast<T>(pass.ids.target_values[i]);
      loss += 0.5 * static_cast<double>(difference) * static_cast<double>(difference);
      error[i] = difference / static_cast<T>(pass.loss_tokens);
    }
    *pass.loss = loss / pass.loss_tokens;
  }

  void input_grad(const LayerPass<T>& pass) const override {
    std::copy_n(pass.stash_values(0), count_, pass.input_grad);
  }
  void weight_grad(const LayerPass<T>&) const override {}

 private:
  std::int64_t count_;
};

}  // namespace

template <class T>
std::unique_ptr<Layer<T>> make_squared_error(const LayerSpec& spec, const MicrobatchShape& shape) {
  return std::make_unique<SquaredError<T>>(spec, shape);
}

template std::unique_ptr<Layer<float>> make_squared_error(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<Layer<double>> make_squared_error(const LayerSpec&, const MicrobatchShape&);

}  // namespace plumb
