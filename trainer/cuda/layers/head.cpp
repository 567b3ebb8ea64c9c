#include <algorithm>

#include "trainer/cuda/kernels/cross_entropy.hpp"
#include "trainer/cuda/layers/dense.hpp"
#include "trainer/cuda/layers/kinds.hpp"

namespace plumb::kernels {

namespace {

/// Logits and cross-entropy of a language-model head or a classifier (trainer/layers/head.cpp). In bf16 they lie
/// vocabulary x tokens where that makes rows begin at multiples of 16 bytes, and tokens x vocabulary does not.
template <class T>
class CudaHead final : public CudaLayer<T> {
 public:
  CudaHead(const LayerSpec& spec, const MicrobatchShape& shape)
      : dense_{shape.tokens(), spec.width, spec.vocabulary},
        has_bias_(spec.kind == LayerKind::kClassifier && spec.bias),
        by_columns_(sizeof(T) == 2 && !has_bias_ && spec.vocabulary % 8 != 0 && shape.tokens() % 8 == 0) {}

  void forward(const CudaPass<T>& pass) const override {
    T* logits = pass.stash_values(0);
    if (by_columns_) {
      multiply(pass, {.a = {pass.weights[0], dense_.inputs, false},
                      .b = {pass.input, dense_.inputs, true},
                      .c = logits,
                      .c_stride = dense_.tokens,
                      .rows = dense_.outputs,
                      .columns = dense_.tokens,
                      .depth = dense_.inputs,
                      .result = kKindOf<T>});
    } else {
      dense_.forward(pass, pass.input, {pass.weights[0], has_bias_ ? pass.weights[1] : nullptr}, logits);
    }
    cross_entropy<T>({.logits = logits,
                      .by_columns = by_columns_,
                      .targets = pass.ids.targets,
                      .rows = dense_.tokens,
                      .vocabulary = dense_.outputs,
                      .loss_tokens = pass.loss_tokens,
                      .loss = pass.loss,
                      .correct = pass.correct,
                      .scratch = pass.device.scratch},
                     pass.device.stream);
  }
  void input_grad(const CudaPass<T>& pass) const override {
    if (by_columns_) {
      return multiply(pass, {.a = {pass.stash_values(0), dense_.tokens, true},
                             .b = {pass.weights[0], dense_.inputs, false},
                             .c = pass.input_grad,
                             .c_stride = dense_.inputs,
                             .rows = dense_.tokens,
                             .columns = dense_.inputs,
                             .depth = dense_.outputs,
                             .result = kKindOf<T>});
    }
    dense_.input_grad(pass, pass.stash_values(0), pass.weights[0], pass.input_grad);
  }
  void weight_grad(const CudaPass<T>& pass) const override {
    if (by_columns_) {
      return multiply(pass, {.a = {pass.stash_values(0), dense_.tokens, false},
                             .b = {pass.input, dense_.inputs, false},
                             .c = pass.gradients[0],
                             .c_stride = dense_.inputs,
                             .rows = dense_.outputs,
                             .columns = dense_.inputs,
                             .depth = dense_.tokens,
                             .result = NumberKind::kFloat32,
                             .accumulates = true});
    }
    dense_.weight_grad(pass, pass.stash_values(0), pass.input, pass.gradients[0],
                       has_bias_ ? pass.gradients[1] : nullptr);
  }
  std::int64_t scratch_bytes() const override {
    return std::max(dense_.scratch_bytes(), cross_entropy_scratch_bytes(dense_.tokens));
  }

 private:
  static void multiply(const CudaPass<T>& pass, MatrixProduct product) {
    product.operands = kKindOf<T>;
    pass.device.products->run(product, pass.device.stream);
  }

  Dense<T> dense_;
  bool has_bias_;
  bool by_columns_;
};

}  // namespace

template <class T>
std::unique_ptr<CudaLayer<T>> make_head(const LayerSpec& spec, const MicrobatchShape& shape) {
  return std::make_unique<CudaHead<T>>(spec, shape);
}
template std::unique_ptr<CudaLayer<float>> make_head(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<CudaLayer<BFloat16>> make_head(const LayerSpec&, const MicrobatchShape&);

}  // namespace plumb::kernels
