#include <algorithm>
#include <cmath>

#include "models/layers/layer_workspace.hpp"
#include "models/network/layer_shape.hpp"
#include "trainer/layers/kinds.hpp"
#include "trainer/layers/matrix.hpp"
#include "trainer/layers/softmax.hpp"
#include "trainer/numbers/row.hpp"

namespace plumb {

namespace {

/// softmax(q k^T / sqrt(d)) v of rows q | k | v, head by head, for whole sequences. No parameters. Stash: log sums, and
/// with padding the number of tokens of every sample: those before its trailing padding, whose id is 0. The scores
/// exist for 64 rows at a time; I makes them again.
template <class T>
class AttentionCore final : public Layer<T> {
 public:
  AttentionCore(const LayerSpec& spec, const MicrobatchShape& shape)
      : samples_(shape.samples),
        sequence_(shape.sequence),
        width_(spec.width),
        heads_(spec.heads),
        group_(spec.heads / (spec.kv_heads == 0 ? spec.heads : spec.kv_heads)),
        head_width_(spec.width / spec.heads),
        qkv_width_(qkv_width(spec)),
        scale_(T(1) / std::sqrt(static_cast<T>(head_width_))),
        causal_(spec.causal),
        padded_(spec.padded) {}

  void forward(const LayerPass<T>& pass) const override {
    if (padded_) count_tokens(pass);
    T* scores = reinterpret_cast<T*>(pass.workspace);
    for_each_block(pass, [&](const Block& block) {
      const auto p = matrix(scores, block.rows, block.keys);
      multiply_transposed<T>(queries(pass.input, block), keys(pass.input, block), p);
      for (std::int64_t r = 0; r < block.rows; ++r) {
        T* row = scores + r * block.keys;
        const std::int64_t seen = visible(block, r);
        for (std::int64_t j = 0; j < seen; ++j) row[j] *= scale_;
        log_sum(pass, block, r) = softmax_row(row, seen);
        std::fill(row + seen, row + block.keys, T(0));
      }
      if (pass.output == nullptr) return;
      multiply<T>(matrix(static_cast<const T*>(scores), block.rows, block.keys), values(pass.input, block),
                  outputs(pass.output, block));
    });
  }

  void input_grad(const LayerPass<T>& pass) const override {
    T* scores = reinterpret_cast<T*>(pass.workspace);
    T* scores_grad = scores + std::min(kAttentionRows, sequence_) * sequence_;
    std::fill_n(pass.input_grad, samples_ * sequence_ * qkv_width_, T(0));
    for_each_block(pass, [&](const Block& block) {
      const auto p = matrix(scores, block.rows, block.keys);
      const auto dp = matrix(scores_grad, block.rows, block.keys);
      const auto probabilities = matrix(static_cast<const T*>(scores), block.rows, block.keys);
      const auto gradients = matrix(static_cast<const T*>(scores_grad), block.rows, block.keys);
      multiply_transposed<T>(queries(pass.input, block), keys(pass.input, block), p);
      multiply_transposed<T>(outputs(pass.output_grad, block), values(pass.input, block), dp);
      for (std::int64_t r = 0; r < block.rows; ++r) score_gradients(pass, block, r, scores, scores_grad);
      accumulate_outer<T>(probabilities, outputs(pass.output_grad, block), values(pass.input_grad, block));
      multiply<T>(gradients, keys(pass.input, block), queries(pass.input_grad, block));
      accumulate_outer<T>(gradients, queries(pass.input, block), keys(pass.input_grad, block));
    });
  }

  void weight_grad(const LayerPass<T>&) const override {}

 private:
  /// Some rows of the scores of one head of one sample, and the keys that they may see.
  struct Block {
    std::int64_t sample = 0;
    std::int64_t head = 0;
    std::int64_t first = 0;  ///< row
    std::int64_t rows = 0;
    std::int64_t keys = 0;
  };

  static std::int32_t* lengths(const LayerPass<T>& pass) { return reinterpret_cast<std::int32_t*>(pass.stash[1]); }

  void count_tokens(const LayerPass<T>& pass) const {
    for (std::int64_t sample = 0; sample < samples_; ++sample) {
      std::int64_t length = sequence_;
      while (length > 1 && pass.ids.tokens[sample * sequence_ + length - 1] == 0) --length;
      lengths(pass)[sample] = static_cast<std::int32_t>(length);
    }
  }

  template <class F>
  void for_each_block(const LayerPass<T>& pass, F f) const {
    for (std::int64_t sample = 0; sample < samples_; ++sample) {
      const std::int64_t length = padded_ ? lengths(pass)[sample] : sequence_;
      for (std::int64_t head = 0; head < heads_; ++head) {
        for (std::int64_t first = 0; first < sequence_; first += kAttentionRows) {
          const std::int64_t end = std::min(first + kAttentionRows, sequence_);
          f(Block{sample, head, first, end - first, causal_ ? std::min(end, length) : length});
        }
      }
    }
  }

  std::int64_t visible(const Block& block, std::int64_t row) const {
    return causal_ ? std::min(block.first + row + 1, block.keys) : block.keys;
  }

  T& log_sum(const LayerPass<T>& pass, const Block& block, std::int64_t row) const {
    return pass.stash_values(0)[(block.sample * sequence_ + block.first + row) * heads_ + block.head];
  }

  /// Replaces a row of scores by probabilities, and that of their gradients by dS = P (dP - sum_j P_j dP_j) * scale.
  void score_gradients(const LayerPass<T>& pass, const Block& block, std::int64_t r, T* scores, T* scores_grad) const {
    T* row = scores + r * block.keys;
    T* grad = scores_grad + r * block.keys;
    const std::int64_t seen = visible(block, r);
    const T log_sum_of_row = log_sum(pass, block, r);
    for (std::int64_t j = 0; j < seen; ++j) row[j] = exponential(row[j] * scale_ - log_sum_of_row);
    std::fill(row + seen, row + block.keys, T(0));
    const T sum = row_sum<T>(seen, [=](std::int64_t j) { return row[j] * grad[j]; });
    for (std::int64_t j = 0; j < seen; ++j) grad[j] = row[j] * (grad[j] - sum) * scale_;
    std::fill(grad + seen, grad + block.keys, T(0));
  }

  template <class U>
  auto queries(U* qkv, const Block& block) const {
    return matrix(qkv + (block.sample * sequence_ + block.first) * qkv_width_ + block.head * head_width_, block.rows,
                  head_width_, qkv_width_);
  }
  template <class U>
  auto keys(U* qkv, const Block& block) const {
    return matrix(qkv + block.sample * sequence_ * qkv_width_ + width_ + block.head / group_ * head_width_, block.keys,
                  head_width_, qkv_width_);
  }
  template <class U>
  auto values(U* qkv, const Block& block) const {
    auto rows = keys(qkv, block);
    rows.data += heads_ / group_ * head_width_;
    return rows;
  }
  template <class U>
  auto outputs(U* value, const Block& block) const {
    return matrix(value + (block.sample * sequence_ + block.first) * width_ + block.head * head_width_, block.rows,
                  head_width_, width_);
  }

  std::int64_t samples_;
  std::int64_t sequence_;
  std::int64_t width_;
  std::int64_t heads_;
  std::int64_t group_;  ///< heads that share keys and values
  std::int64_t head_width_;
  std::int64_t qkv_width_;
  T scale_;
  bool causal_;
  bool padded_;
};

}  // namespace

template <class T>
std::unique_ptr<Layer<T>> make_attention_core(const LayerSpec& spec, const MicrobatchShape& shape) {
  return std::make_unique<AttentionCore<T>>(spec, shape);
}

template std::unique_ptr<Layer<float>> make_attention_core(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<Layer<double>> make_attention_core(const LayerSpec&, const MicrobatchShape&);

}  // namespace plumb
