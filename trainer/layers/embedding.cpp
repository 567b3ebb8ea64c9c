#include <algorithm>
#include <cassert>

#include "trainer/layers/kinds.hpp"

namespace plumb {

namespace {

/// Parameters: table, positions (optional). Stash: tokens.
template <class T>
class Embedding final : public Layer<T> {
 public:
  Embedding(const LayerSpec& spec, const MicrobatchShape& shape)
      : tokens_(shape.tokens()),
        sequence_(shape.sequence),
        before_(shape.before),
        width_(spec.width),
        has_positions_(spec.positions > 0) {}

  void forward(const LayerPass<T>& pass) const override {
    auto* kept = reinterpret_cast<std::int32_t*>(pass.stash[0]);
    std::copy(pass.ids.tokens, pass.ids.tokens + tokens_, kept);
    if (pass.output == nullptr) return;
    for (std::int64_t t = 0; t < tokens_; ++t) {
      T* out = pass.output + t * width_;
      const T* word = pass.weights[0] + kept[t] * width_;
      std::copy(word, word + width_, out);
      if (has_positions_) add(out, pass.weights[1] + position(t) * width_);
    }
  }

  /// Token ids have no gradient.
  void input_grad(const LayerPass<T>&) const override {}

  void weight_grad(const LayerPass<T>& pass) const override {
    const auto* tokens = reinterpret_cast<const std::int32_t*>(pass.stash[0]);
    for (std::int64_t t = 0; t < tokens_; ++t) {
      const T* gradient = pass.output_grad + t * width_;
      add(pass.gradients[0] + tokens[t] * width_, gradient);
      if (has_positions_) add(pass.gradients[1] + position(t) * width_, gradient);
    }
  }

 private:
  std::int64_t position(std::int64_t token) const { return before_ + token % sequence_; }

  void add(T* sum, const T* row) const {
    for (std::int64_t j = 0; j < width_; ++j) sum[j] += row[j];
  }

  std::int64_t tokens_;
  std::int64_t sequence_;
  std::int64_t before_;  ///< tokens of a sample before this slice
  std::int64_t width_;
  bool has_positions_;
};

}  // namespace

template <class T>
std::unique_ptr<Layer<T>> make_embedding(const LayerSpec& spec, const MicrobatchShape& shape) {
  return std::make_unique<Embedding<T>>(spec, shape);
}

template std::unique_ptr<Layer<float>> make_embedding(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<Layer<double>> make_embedding(const LayerSpec&, const MicrobatchShape&);

}  // namespace plumb
