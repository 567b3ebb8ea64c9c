#include "trainer/cuda/kernels/embedding.hpp"
#include "trainer/cuda/layers/kinds.hpp"

namespace plumb::kernels {

namespace {

template <class T>
class CudaEmbedding final : public CudaLayer<T> {
 public:
  CudaEmbedding(const LayerSpec& spec, const MicrobatchShape& shape) : spec_(spec), shape_(shape) {}

  void forward(const CudaPass<T>& pass) const override {
    embedding_forward<T>({.ids = spec_.target ? pass.ids.target_tokens : pass.ids.tokens,
                          .kept = reinterpret_cast<std::int32_t*>(pass.stash[0]),
                          .table = pass.weights[0],
                          .positions = spec_.positions > 0 ? pass.weights[1] : nullptr,
                          .output = pass.output,
                          .tokens = shape_.tokens(),
                          .sequence = shape_.sequence,
                          .before = shape_.before,
                          .width = spec_.width,
                          .sinusoidal = spec_.sinusoidal},
                         pass.device.stream);
  }

  /// Token ids have no gradient.
  void input_grad(const CudaPass<T>&) const override {}

  void weight_grad(const CudaPass<T>& pass) const override {
    embedding_backward<T>({.ids = reinterpret_cast<const std::int32_t*>(pass.stash[0]),
                           .output_grad = pass.output_grad,
                           .table_grad = pass.gradients[0],
                           .positions_grad = spec_.positions > 0 ? pass.gradients[1] : nullptr,
                           .scratch = pass.device.scratch,
                           .tokens = shape_.tokens(),
                           .sequence = shape_.sequence,
                           .before = shape_.before,
                           .width = spec_.width,
                           .vocabulary = spec_.vocabulary,
                           .sinusoidal = spec_.sinusoidal},
                          pass.device.stream);
  }

  std::int64_t scratch_bytes() const override { return embedding_scratch_bytes(shape_.tokens()); }

 private:
  LayerSpec spec_;
  MicrobatchShape shape_;
};

}  // namespace

template <class T>
std::unique_ptr<CudaLayer<T>> make_embedding(const LayerSpec& spec, const MicrobatchShape& shape) {
  return std::make_unique<CudaEmbedding<T>>(spec, shape);
}
template std::unique_ptr<CudaLayer<float>> make_embedding(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<CudaLayer<BFloat16>> make_embedding(const LayerSpec&, const MicrobatchShape&);

}  // namespace plumb::kernels
