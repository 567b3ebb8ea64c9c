#include "trainer/cuda/kernels/attention/key_slices.hpp"
#include "trainer/cuda/layers/attend.hpp"
#include "trainer/cuda/layers/attention_sizes.hpp"
#include "trainer/cuda/layers/kinds.hpp"

namespace plumb::kernels {

namespace {

/// trainer/layers/attention_core.cpp. The output is not kept, so I makes it again for the softmax's gradient.
template <class T>
class CudaAttentionCore final : public CudaLayer<T> {
 public:
  CudaAttentionCore(const LayerSpec& spec, const MicrobatchShape& shape)
      : sizes_(spec), shape_(shape), causal_(spec.causal), padded_(spec.padded) {}

  void forward(const CudaPass<T>& pass) const override {
    if (padded_) count_tokens(pass.ids.tokens, {shape_.samples, shape_.sequence, 0}, lengths(pass), pass.device.stream);
    look(pass, pass.output, pass.statistics(0));
  }

  void input_grad(const CudaPass<T>& pass) const override {
    ScratchPieces scratch(pass.device.scratch);
    float* deltas = scratch.take<float>(statistics());
    float* log_sums = scratch.take<float>(statistics());
    T* attended = scratch.take<T>(shape_.tokens() * sizes_.width);
    look(pass, attended, log_sums);
    attend_back<T>(pass.device, {.shape = seen(pass),
                                 .queries = {pass.input, sizes_.row},
                                 .keys = {pass.input + sizes_.width, sizes_.row},
                                 .values = {pass.input + values(), sizes_.row},
                                 .attended = {attended, sizes_.width},
                                 .attended_grad = {pass.output_grad, sizes_.width},
                                 .log_sums = pass.statistics(0),
                                 .query_grad = {pass.input_grad, sizes_.row},
                                 .key_grad = {pass.input_grad + sizes_.width, sizes_.row},
                                 .value_grad = {pass.input_grad + values(), sizes_.row},
                                 .deltas = deltas});
  }

  void weight_grad(const CudaPass<T>&) const override {}

  std::int64_t scratch_bytes() const override {
    return 2 * ScratchPieces::bytes<float>(statistics()) + ScratchPieces::bytes<T>(shape_.tokens() * sizes_.width);
  }

 private:
  std::int64_t statistics() const { return shape_.tokens() * sizes_.heads; }
  std::int64_t values() const { return sizes_.width + sizes_.keys_width / 2; }
  static std::int32_t* lengths(const CudaPass<T>& pass) { return reinterpret_cast<std::int32_t*>(pass.stash[1]); }
  AttentionShape seen(const CudaPass<T>& pass) const {
    AttentionShape shape = sizes_.shape(shape_, causal_);
    if (padded_) shape.lengths = lengths(pass);
    return shape;
  }

  void look(const CudaPass<T>& pass, T* attended, float* log_sums) const {
    attend<T>(pass.device, {.shape = seen(pass),
                            .queries = {pass.input, sizes_.row},
                            .keys = {pass.input + sizes_.width, sizes_.row},
                            .values = {pass.input + values(), sizes_.row},
                            .attended = {attended, sizes_.width},
                            .log_sums = log_sums});
  }

  AttentionSizes sizes_;
  MicrobatchShape shape_;
  bool causal_;
  bool padded_;
};

}  // namespace

template <class T>
std::unique_ptr<CudaLayer<T>> make_attention_core(const LayerSpec& spec, const MicrobatchShape& shape) {
  return std::make_unique<CudaAttentionCore<T>>(spec, shape);
}
template std::unique_ptr<CudaLayer<float>> make_attention_core(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<CudaLayer<BFloat16>> make_attention_core(const LayerSpec&, const MicrobatchShape&);

}  // namespace plumb::kernels
