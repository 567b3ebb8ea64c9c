#include "trainer/cuda/kernels/activation.hpp"
#include "trainer/cuda/layers/cuda_arithmetic.hpp"
#include "trainer/cuda/layers/kinds.hpp"

namespace plumb::kernels {

namespace {

/// The activation of an `MlpLayer`: GELU and SwiGLU. GELU goes into the products where those take it and no adapter
/// adds to what they give.
template <class T>
class CudaMlpActivation {
 public:
  explicit CudaMlpActivation(const LayerSpec& spec)
      : hidden_(spec.hidden), stride_(spec.gated ? 2 * spec.hidden : spec.hidden), gated_(spec.gated) {}

  void forward(const CudaPass<T>& pass, const Dense<T>& in, const T* bias,
               const Adapter<CudaArithmetic<T>>& adapter) const {
    T* inner = pass.stash_values(0);
    T* activated = pass.stash_values(1);
    const AffineWeights<T> weights{pass.weights[0], bias};
    if (runs_fused(pass, in.forward_product(pass.input, weights, activated), Epilogue::kGelu, adapter)) return;
    in.forward(pass, pass.input, weights, inner);
    adapter.forward(pass, pass.input, inner);
    activate<T>({inner, activated, in.tokens, hidden_, gated_}, pass.device.stream);
  }

  /// The gradient of the activated values lands where that of the inner ones will be: its second half when gated.
  void input_grad(const CudaPass<T>& pass, const Dense<T>& out, const T* weight,
                  const Adapter<CudaArithmetic<T>>& adapter) const {
    T* inner_grad = pass.stash_values(2);
    T* activated_grad = gated_ ? inner_grad + hidden_ : inner_grad;
    const MatrixProduct product = out.input_grad_product(pass.output_grad, weight, activated_grad, {.stride = stride_});
    if (runs_fused(pass, product, Epilogue::kGeluGrad, adapter)) return;
    pass.device.products->run(product, pass.device.stream);
    adapter.input_grad(pass, pass.output_grad, activated_grad, stride_);
    activation_grad<T>({pass.stash_values(0), inner_grad, out.tokens, hidden_, gated_}, pass.device.stream);
  }

 private:
  /// Runs the product with GELU in its epilogue. False, and nothing done, where that cannot be.
  bool runs_fused(const CudaPass<T>& pass, MatrixProduct product, Epilogue epilogue,
                  const Adapter<CudaArithmetic<T>>& adapter) const {
    product.epilogue = epilogue;
    product.inner = pass.stash_values(0);
    product.inner_stride = stride_;
    if (gated_ || !adapter.does_nothing() || !pass.device.products->fuses(product)) return false;
    pass.device.products->run(product, pass.device.stream);
    return true;
  }

  std::int64_t hidden_;
  std::int64_t stride_;  ///< numbers between rows before the activation
  bool gated_;
};

}  // namespace

template <class T>
std::unique_ptr<CudaLayer<T>> make_mlp(const LayerSpec& spec, const MicrobatchShape& shape) {
  return std::make_unique<MlpLayer<CudaArithmetic<T>, CudaMlpActivation<T>>>(spec, shape);
}
template std::unique_ptr<CudaLayer<float>> make_mlp(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<CudaLayer<BFloat16>> make_mlp(const LayerSpec&, const MicrobatchShape&);

}  // namespace plumb::kernels
