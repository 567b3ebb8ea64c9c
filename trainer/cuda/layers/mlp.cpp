#include <algorithm>

#include "trainer/cuda/kernels/activation.hpp"
#include "trainer/cuda/layers/adapter.hpp"
#include "trainer/cuda/layers/dense.hpp"
#include "trainer/cuda/layers/kinds.hpp"

namespace plumb::kernels {

namespace {

/// GELU and SwiGLU (trainer/layers/mlp.cpp). GELU goes into the products where those take it and no adapter adds to
/// what they give.
template <class T>
class CudaMlp final : public CudaLayer<T> {
 public:
  CudaMlp(const LayerSpec& spec, const MicrobatchShape& shape)
      : in_{shape.tokens(), spec.width, spec.gated ? 2 * spec.hidden : spec.hidden},
        out_{shape.tokens(), spec.hidden, spec.width},
        gated_(spec.gated),
        has_bias_(spec.bias),
        adapters_(make_cuda_adapters<T>(spec, {in_, out_}, spec.bias ? 4 : 2, 3)) {}

  void forward(const CudaPass<T>& pass) const override {
    T* inner = pass.stash_values(0);
    T* activated = pass.stash_values(1);
    const T* bias = has_bias_ ? pass.weights[1] : nullptr;
    MatrixProduct fused = in_.forward_product(pass.input, pass.weights[0], bias, activated);
    fused.epilogue = Epilogue::kGelu;
    fused.inner = inner;
    fused.inner_stride = in_.outputs;
    if (!gated_ && adapters_[0].does_nothing() && pass.device.products->fuses(fused)) {
      pass.device.products->run(fused, pass.device.stream);
    } else {
      in_.forward(pass.device, pass.input, pass.weights[0], bias, inner);
      adapters_[0].forward(pass, pass.input, inner);
      activate<T>({inner, activated, in_.tokens, out_.inputs, gated_}, pass.device.stream);
    }
    if (pass.output != nullptr) {
      out_.forward(pass.device, activated, pass.weights[out_weight()], has_bias_ ? pass.weights[3] : nullptr,
                   pass.output);
    }
    adapters_[1].forward(pass, activated, pass.output);
  }

  /// The gradient of the activated values lands where that of the inner ones will be: its second half when gated.
  void input_grad(const CudaPass<T>& pass) const override {
    T* inner = pass.stash_values(0);
    T* inner_grad = pass.stash_values(2);
    T* activated_grad = gated_ ? inner_grad + out_.inputs : inner_grad;
    MatrixProduct product =
        out_.input_grad_product(pass.output_grad, pass.weights[out_weight()], activated_grad, in_.outputs);
    MatrixProduct fused = product;
    fused.epilogue = Epilogue::kGeluGrad;
    fused.inner = inner;
    fused.inner_stride = in_.outputs;
    const bool adapted = !adapters_[1].does_nothing();
    if (!gated_ && !adapted && pass.device.products->fuses(fused)) {
      pass.device.products->run(fused, pass.device.stream);
    } else {
      pass.device.products->run(product, pass.device.stream);
      adapters_[1].input_grad(pass, pass.output_grad, activated_grad, in_.outputs);
      activation_grad<T>({inner, inner_grad, in_.tokens, out_.inputs, gated_}, pass.device.stream);
    }
    in_.input_grad(pass.device, inner_grad, pass.weights[0], pass.input_grad);
    adapters_[0].input_grad(pass, inner_grad, pass.input_grad);
  }

  void weight_grad(const CudaPass<T>& pass) const override {
    out_.weight_grad(pass.device, pass.output_grad, pass.stash_values(1), pass.gradients[out_weight()],
                     has_bias_ ? pass.gradients[3] : nullptr);
    in_.weight_grad(pass.device, pass.stash_values(2), pass.input, pass.gradients[0],
                    has_bias_ ? pass.gradients[1] : nullptr);
    adapters_[1].weight_grad(pass, pass.output_grad, pass.stash_values(1));
    adapters_[0].weight_grad(pass, pass.stash_values(2), pass.input);
  }

  std::int64_t scratch_bytes() const override { return std::max(in_.scratch_bytes(), out_.scratch_bytes()); }

 private:
  std::size_t out_weight() const { return has_bias_ ? 2 : 1; }

  Dense<T> in_;
  Dense<T> out_;
  bool gated_;
  bool has_bias_;
  std::vector<CudaAdapter<T>> adapters_;  ///< in, out
};

}  // namespace

template <class T>
std::unique_ptr<CudaLayer<T>> make_mlp(const LayerSpec& spec, const MicrobatchShape& shape) {
  return std::make_unique<CudaMlp<T>>(spec, shape);
}
template std::unique_ptr<CudaLayer<float>> make_mlp(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<CudaLayer<BFloat16>> make_mlp(const LayerSpec&, const MicrobatchShape&);

}  // namespace plumb::kernels
