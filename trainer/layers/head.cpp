#include <algorithm>

#include "trainer/layers/kinds.hpp"
#include "trainer/layers/projection.hpp"
#include "trainer/layers/softmax.hpp"

namespace plumb {

namespace {

/// Logits, softmax and mean cross-entropy in one; rows without a target do not count. Parameters: weight, bias
/// (optional, of a classifier). Stash: gradient of the logits, made by F in place of the logits: (softmax - one at the
/// target) / loss_tokens.
template <class T>
class Head final : public Layer<T> {
 public:
  Head(const LayerSpec& spec, const MicrobatchShape& shape)
      : projection_{shape.tokens(), spec.width, spec.vocabulary},
        has_bias_(spec.kind == LayerKind::kClassifier && spec.bias) {}

  void forward(const LayerPass<T>& pass) const override {
    T* logits = pass.stash_values(0);
    projection_.forward(pass.input, pass.weights[0], has_bias_ ? pass.weights[1] : nullptr, logits);
    const std::int64_t tokens = projection_.tokens;
    const std::int64_t vocabulary = projection_.outputs;
    const T scale = T(1) / static_cast<T>(pass.loss_tokens);
    double loss = 0;
    for (std::int64_t t = 0; t < tokens; ++t) {
      T* row = logits + t * vocabulary;
      const std::int32_t target = pass.ids.targets[t];
      if (target < 0) {
        std::fill(row, row + vocabulary, T(0));
        continue;
      }
      const T target_logit = row[target];
      if (pass.correct != nullptr) *pass.correct += target_logit == row_max(row, vocabulary) ? 1 : 0;
      const T log_sum = softmax_row(row, vocabulary);
      loss += static_cast<double>(log_sum - target_logit);
      row[target] -= T(1);
      for (std::int64_t j = 0; j < vocabulary; ++j) row[j] *= scale;
    }
    *pass.loss = loss / pass.loss_tokens;
  }

  void input_grad(const LayerPass<T>& pass) const override {
    projection_.input_grad(static_cast<const T*>(pass.stash_values(0)), pass.weights[0], pass.input_grad);
  }

  void weight_grad(const LayerPass<T>& pass) const override {
    projection_.weight_grad(static_cast<const T*>(pass.stash_values(0)), pass.input, pass.gradients[0],
                            has_bias_ ? pass.gradients[1] : nullptr);
  }

 private:
  Projection projection_;
  bool has_bias_;
};

}  // namespace

template <class T>
std::unique_ptr<Layer<T>> make_head(const LayerSpec& spec, const MicrobatchShape& shape) {
  return std::make_unique<Head<T>>(spec, shape);
}

template <class T>
std::unique_ptr<Layer<T>> make_classifier(const LayerSpec& spec, const MicrobatchShape& shape) {
  return std::make_unique<Head<T>>(spec, shape);
}

template std::unique_ptr<Layer<float>> make_classifier(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<Layer<double>> make_classifier(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<Layer<float>> make_head(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<Layer<double>> make_head(const LayerSpec&, const MicrobatchShape&);

}  // namespace plumb
