#include <algorithm>

#include "models/network/layer_shape.hpp"
#include "trainer/layers/kinds.hpp"

namespace plumb {

namespace {

/// y = (x / 255 - 1/2) * 4: bytes of photographs get a mean near 0 and a deviation near 1.
template <class T>
class Pixels final : public Layer<T> {
 public:
  Pixels(const LayerSpec& spec, const MicrobatchShape& shape) : count_(shape.tokens() * input_image(spec).features()) {}

  void forward(const LayerPass<T>& pass) const override {
    if (pass.output == nullptr) return;
    std::transform(pass.ids.tokens, pass.ids.tokens + count_, pass.output,
                   [](std::int32_t byte) { return (static_cast<T>(byte) / T(255) - T(0.5)) * T(4); });
  }
  void input_grad(const LayerPass<T>&) const override {}
  void weight_grad(const LayerPass<T>&) const override {}

 private:
  std::int64_t count_;
};

}  // namespace

template <class T>
std::unique_ptr<Layer<T>> make_pixels(const LayerSpec& spec, const MicrobatchShape& shape) {
  return std::make_unique<Pixels<T>>(spec, shape);
}

template std::unique_ptr<Layer<float>> make_pixels(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<Layer<double>> make_pixels(const LayerSpec&, const MicrobatchShape&);

}  // namespace plumb
