#include "trainer/cuda/kernels/norms/channel_norm.hpp"
#include "trainer/cuda/layers/kinds.hpp"

namespace plumb::kernels {

namespace {

/// Batch norm and group norm (trainer/layers/batch_norm.cpp, group_norm.cpp).
template <class T>
class ChannelNorm final : public CudaLayer<T> {
 public:
  ChannelNorm(const LayerSpec& spec, const MicrobatchShape& shape)
      : shape_{shape.tokens(), spec.height * spec.columns, spec.channels,
               spec.kind == LayerKind::kGroupNorm ? spec.groups : 0} {}

  void forward(const CudaPass<T>& pass) const override {
    channel_norm_forward<T>({.shape = shape_,
                             .input = pass.input,
                             .weight = pass.weights[0],
                             .bias = pass.weights[1],
                             .output = pass.output,
                             .mean = pass.statistics(0),
                             .inverse = pass.statistics(1),
                             .scratch = pass.device.scratch},
                            pass.device.stream);
  }
  void input_grad(const CudaPass<T>& pass) const override {
    channel_norm_backward<T>({.shape = shape_,
                              .input = pass.input,
                              .output_grad = pass.output_grad,
                              .weight = pass.weights[0],
                              .mean = pass.statistics(0),
                              .inverse = pass.statistics(1),
                              .input_grad = pass.input_grad,
                              .weight_grad = pass.gradients[0],
                              .bias_grad = pass.gradients[1],
                              .scratch = pass.device.scratch},
                             pass.device.stream);
  }
  void weight_grad(const CudaPass<T>&) const override {}
  std::int64_t scratch_bytes() const override { return channel_norm_scratch_bytes(shape_); }

 private:
  ChannelNormShape shape_;
};

}  // namespace

template <class T>
std::unique_ptr<CudaLayer<T>> make_channel_norm(const LayerSpec& spec, const MicrobatchShape& shape) {
  return std::make_unique<ChannelNorm<T>>(spec, shape);
}
template std::unique_ptr<CudaLayer<float>> make_channel_norm(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<CudaLayer<BFloat16>> make_channel_norm(const LayerSpec&, const MicrobatchShape&);

}  // namespace plumb::kernels
