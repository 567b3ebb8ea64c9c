#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

#include "trainer/layers/kinds.hpp"

namespace plumb {

namespace {

/// Parameters: table, positions (optional). Stash: tokens. Sinusoidal positions are added to rows scaled by
/// sqrt(width).
template <class T>
class Embedding final : public Layer<T> {
 public:
  Embedding(const LayerSpec& spec, const MicrobatchShape& shape)
      : tokens_(shape.tokens()),
        sequence_(shape.sequence),
        before_(shape.before),
        width_(spec.width),
        has_positions_(spec.positions > 0),
        target_(spec.target),
        scale_(spec.sinusoidal ? std::sqrt(static_cast<T>(spec.width)) : T(1)) {
    if (spec.sinusoidal) make_waves();
  }

  void forward(const LayerPass<T>& pass) const override {
    auto* kept = reinterpret_cast<std::int32_t*>(pass.stash[0]);
    const std::int32_t* ids = target_ ? pass.ids.target_tokens : pass.ids.tokens;
    std::copy(ids, ids + tokens_, kept);
    if (pass.output == nullptr) return;
    for (std::int64_t t = 0; t < tokens_; ++t) {
      T* out = pass.output + t * width_;
      const T* word = pass.weights[0] + kept[t] * width_;
      std::copy(word, word + width_, out);
      if (has_positions_) add(out, pass.weights[1] + position(t) * width_);
      if (waves_.empty()) continue;
      const T* wave = waves_.data() + t % sequence_ * width_;
      for (std::int64_t j = 0; j < width_; ++j) out[j] = out[j] * scale_ + wave[j];
    }
  }

  /// Token ids have no gradient.
  void input_grad(const LayerPass<T>&) const override {}

  void weight_grad(const LayerPass<T>& pass) const override {
    const auto* tokens = reinterpret_cast<const std::int32_t*>(pass.stash[0]);
    for (std::int64_t t = 0; t < tokens_; ++t) {
      const T* gradient = pass.output_grad + t * width_;
      T* row = pass.gradients[0] + tokens[t] * width_;
      if (waves_.empty()) {
        add(row, gradient);
      } else {
        for (std::int64_t j = 0; j < width_; ++j) row[j] += gradient[j] * scale_;
      }
      if (has_positions_) add(pass.gradients[1] + position(t) * width_, gradient);
    }
  }

 private:
  /// sin and cos of position / 10000^(2 i / width) in columns 2 i and 2 i + 1 (Vaswani et al., 2017, 3.5). Constant, so
  /// it is neither a parameter nor counted memory.
  void make_waves() {
    waves_.resize(static_cast<std::size_t>(sequence_ * width_));
    for (std::int64_t t = 0; t < sequence_; ++t) {
      for (std::int64_t j = 0; j < width_; ++j) {
        const double rate = std::pow(10000.0, -static_cast<double>(j / 2 * 2) / static_cast<double>(width_));
        const double angle = static_cast<double>(before_ + t) * rate;
        waves_[static_cast<std::size_t>(t * width_ + j)] =
            static_cast<T>(j % 2 == 0 ? std::sin(angle) : std::cos(angle));
      }
    }
  }

  std::int64_t position(std::int64_t token) const { return before_ + token % sequence_; }

  void add(T* sum, const T* row) const {
    for (std::int64_t j = 0; j < width_; ++j) sum[j] += row[j];
  }

  std::int64_t tokens_;
  std::int64_t sequence_;
  std::int64_t before_;  ///< tokens of a sample before this slice
  std::int64_t width_;
  bool has_positions_;
  bool target_;  ///< reads the target tokens
  T scale_;
  std::vector<T> waves_;  ///< by position of the slice
};

}  // namespace

template <class T>
std::unique_ptr<Layer<T>> make_embedding(const LayerSpec& spec, const MicrobatchShape& shape) {
  return std::make_unique<Embedding<T>>(spec, shape);
}

template std::unique_ptr<Layer<float>> make_embedding(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<Layer<double>> make_embedding(const LayerSpec&, const MicrobatchShape&);

}  // namespace plumb
