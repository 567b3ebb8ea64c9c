#include "trainer/layers/adapter.hpp"
#include "trainer/layers/kinds.hpp"
#include "trainer/layers/projection.hpp"

namespace plumb {

namespace {

/// Parameters: weight, bias (optional), those of its adapter. Stash: that of its adapter; input and output gradient
/// stay for W.
template <class T>
class Linear final : public Layer<T> {
 public:
  Linear(const LayerSpec& spec, const MicrobatchShape& shape)
      : projection_{shape.tokens(), spec.width, spec.outputs},
        has_bias_(spec.bias),
        adapter_(make_adapters(spec, {projection_}, spec.bias ? 2 : 1, 0).front()) {}

  void forward(const LayerPass<T>& pass) const override {
    if (pass.output != nullptr) {
      projection_.forward(pass.input, pass.weights[0], has_bias_ ? pass.weights[1] : nullptr, pass.output);
    }
    adapter_.forward(pass, pass.input, pass.output);
  }
  void input_grad(const LayerPass<T>& pass) const override {
    if (pass.input_grad != nullptr) projection_.input_grad(pass.output_grad, pass.weights[0], pass.input_grad);
    adapter_.input_grad(pass, pass.output_grad, pass.input_grad);
  }
  void weight_grad(const LayerPass<T>& pass) const override {
    projection_.weight_grad(pass.output_grad, pass.input, pass.gradients[0], has_bias_ ? pass.gradients[1] : nullptr);
    adapter_.weight_grad(pass, pass.output_grad, pass.input);
  }

 private:
  Projection projection_;
  bool has_bias_;
  Adapter adapter_;
};

}  // namespace

template <class T>
std::unique_ptr<Layer<T>> make_linear(const LayerSpec& spec, const MicrobatchShape& shape) {
  return std::make_unique<Linear<T>>(spec, shape);
}

template std::unique_ptr<Layer<float>> make_linear(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<Layer<double>> make_linear(const LayerSpec&, const MicrobatchShape&);

}  // namespace plumb
