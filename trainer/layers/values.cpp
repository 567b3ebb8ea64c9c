#include <algorithm>

#include "trainer/layers/kinds.hpp"

namespace plumb {

namespace {

/// The data's numbers, rounded to T.
template <class T>
class Values final : public Layer<T> {
 public:
  Values(const LayerSpec& spec, const MicrobatchShape& shape) : count_(shape.tokens() * spec.width) {}

  void forward(const LayerPass<T>& pass) const override {
    if (pass.output == nullptr) return;
    std::transform(pass.ids.values, pass.ids.values + count_, pass.output,
                   [](double value) { return static_cast<T>(value); });
  }
  void input_grad(const LayerPass<T>&) const override {}
  void weight_grad(const LayerPass<T>&) const override {}

 private:
  std::int64_t count_;
};

}  // namespace

template <class T>
std::unique_ptr<Layer<T>> make_values(const LayerSpec& spec, const MicrobatchShape& shape) {
  return std::make_unique<Values<T>>(spec, shape);
}

template std::unique_ptr<Layer<float>> make_values(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<Layer<double>> make_values(const LayerSpec&, const MicrobatchShape&);

}  // namespace plumb
