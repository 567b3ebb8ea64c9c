#include "trainer/cuda/layers/adapter.hpp"
#include "trainer/cuda/layers/dense.hpp"
#include "trainer/cuda/layers/kinds.hpp"

namespace plumb::kernels {

namespace {

template <class T>
class CudaLinear final : public CudaLayer<T> {
 public:
  CudaLinear(const LayerSpec& spec, const MicrobatchShape& shape)
      : dense_{shape.tokens(), spec.width, spec.outputs},
        has_bias_(spec.bias),
        adapter_(make_cuda_adapters<T>(spec, {dense_}, spec.bias ? 2 : 1, 0).front()) {}

  void forward(const CudaPass<T>& pass) const override {
    if (pass.output != nullptr) {
      dense_.forward(pass.device, pass.input, pass.weights[0], has_bias_ ? pass.weights[1] : nullptr, pass.output);
    }
    adapter_.forward(pass, pass.input, pass.output);
  }
  void input_grad(const CudaPass<T>& pass) const override {
    if (pass.input_grad != nullptr) {
      dense_.input_grad(pass.device, pass.output_grad, pass.weights[0], pass.input_grad);
    }
    adapter_.input_grad(pass, pass.output_grad, pass.input_grad);
  }
  void weight_grad(const CudaPass<T>& pass) const override {
    dense_.weight_grad(pass.device, pass.output_grad, pass.input, pass.gradients[0],
                       has_bias_ ? pass.gradients[1] : nullptr);
    adapter_.weight_grad(pass, pass.output_grad, pass.input);
  }
  std::int64_t scratch_bytes() const override { return dense_.scratch_bytes(); }

 private:
  Dense<T> dense_;
  bool has_bias_;
  CudaAdapter<T> adapter_;
};

}  // namespace

template <class T>
std::unique_ptr<CudaLayer<T>> make_linear(const LayerSpec& spec, const MicrobatchShape& shape) {
  return std::make_unique<CudaLinear<T>>(spec, shape);
}
template std::unique_ptr<CudaLayer<float>> make_linear(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<CudaLayer<BFloat16>> make_linear(const LayerSpec&, const MicrobatchShape&);

}  // namespace plumb::kernels
