#include "trainer/cuda/kernels/norms/norm.hpp"
#include "trainer/cuda/kernels/products/column_sums.hpp"
#include "trainer/cuda/layers/kinds.hpp"

namespace plumb::kernels {

namespace {

/// Layer norm and RMS norm.
template <class T>
class Norm final : public CudaLayer<T> {
 public:
  Norm(const LayerSpec& spec, const MicrobatchShape& shape)
      : rows_(shape.tokens()),
        width_(spec.width),
        centred_(spec.kind == LayerKind::kLayerNorm),
        has_bias_(centred_ && spec.bias),
        epsilon_(static_cast<float>(spec.epsilon)) {}

  void forward(const CudaPass<T>& pass) const override {
    norm_forward<T>({.input = pass.input,
                     .added = pass.added,
                     .sum = const_cast<T*>(pass.input),  // a sum that the caller lets the norm complete
                     .weight = pass.weights[0],
                     .bias = has_bias_ ? pass.weights[1] : nullptr,
                     .output = pass.output,
                     .mean = centred_ ? pass.statistics(0) : nullptr,
                     .inverse = pass.statistics(centred_ ? 1 : 0),
                     .rows = rows_,
                     .width = width_,
                     .epsilon = epsilon_},
                    pass.device.stream);
  }

  void input_grad(const CudaPass<T>& pass) const override {
    norm_backward<T>({.input = pass.input,
                      .output_grad = pass.output_grad,
                      .weight = pass.weights[0],
                      .mean = centred_ ? pass.statistics(0) : nullptr,
                      .inverse = pass.statistics(centred_ ? 1 : 0),
                      .added = pass.added,
                      .input_grad = pass.input_grad,
                      .weight_grad = pass.gradients[0],
                      .bias_grad = has_bias_ ? pass.gradients[1] : nullptr,
                      .scratch = pass.device.scratch,
                      .rows = rows_,
                      .width = width_},
                     pass.device.stream);
  }

  void weight_grad(const CudaPass<T>&) const override {}
  std::int64_t scratch_bytes() const override { return column_scratch_bytes(rows_, width_, 2); }
  bool adds() const override { return true; }

 private:
  std::int64_t rows_;
  std::int64_t width_;
  bool centred_;
  bool has_bias_;
  float epsilon_;
};

}  // namespace

template <class T>
std::unique_ptr<CudaLayer<T>> make_norm(const LayerSpec& spec, const MicrobatchShape& shape) {
  return std::make_unique<Norm<T>>(spec, shape);
}
template std::unique_ptr<CudaLayer<float>> make_norm(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<CudaLayer<BFloat16>> make_norm(const LayerSpec&, const MicrobatchShape&);

}  // namespace plumb::kernels
