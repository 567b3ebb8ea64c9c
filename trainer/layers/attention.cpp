#include <algorithm>
#include <cmath>

#include "models/layers/layer_workspace.hpp"
#include "trainer/layers/cpu_arithmetic.hpp"
#include "trainer/layers/kinds.hpp"
#include "trainer/layers/matrix.hpp"
#include "trainer/layers/rotary.hpp"
#include "trainer/layers/softmax.hpp"

namespace plumb {

namespace {

/// One head of one sample.
struct HeadPlace {
  std::int64_t first_token = 0;  ///< of the sample
  std::int64_t query = 0;        ///< columns in qkv
  std::int64_t key = 0;
  std::int64_t value = 0;
  std::int64_t attended = 0;  ///< column in attended
  std::int64_t head = 0;
};

/// The keys and values of one sample, a row per token; its first tokens may be those of earlier slices.
template <class U>
struct KeyRows {
  U* rows = nullptr;
  std::int64_t stride = 0;
  std::int64_t shift = 0;  ///< columns of qkv left out at the beginning
};

/// Some rows of the scores with the keys that they may see.
struct RowRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t keys = 0;

  std::int64_t size() const { return end - begin; }
};

template <class T>
MatrixView<const T> view(MatrixView<T> m) {
  return {m.data, m.rows, m.columns, m.stride};
}

/// The core of an `AttentionLayer`. The scores exist for 64 rows at a time; causal heads skip the keys after those
/// rows, and with a window the scores before it are made and not used. On a sequence slice the keys and values of the
/// earlier slices are gathered before its own, sample by sample.
template <class T>
class AttentionScores {
 public:
  AttentionScores(const LayerSpec& spec, const MicrobatchShape& shape)
      : shape_(shape),
        width_(spec.width),
        heads_(spec.heads),
        kv_heads_(spec.kv_heads == 0 ? spec.heads : spec.kv_heads),
        head_width_(spec.width / spec.heads),
        qkv_width_(qkv_width(spec)),
        scale_(T(1) / std::sqrt(static_cast<T>(head_width_))),
        causal_(spec.causal),
        rotary_(spec.rotary),
        turns_(spec.turns),
        window_(spec.window) {}

  void forward(const LayerPass<T>& pass) const {
    T* qkv = pass.stash_values(0);
    T* scores = reinterpret_cast<T*>(pass.workspace);
    T* angles = scores + scores_size();
    T* gathered = angles + angles_size();
    if (rotary_) turn(qkv, angles, T(1));
    if (pass.keys != nullptr) copy_rows(qkv + width_, qkv_width_, shape_.tokens(), pass.keys);
    for (std::int64_t sample = 0; sample < shape_.samples; ++sample) {
      const KeyRows<const T> keys = keys_of(pass, qkv, sample, gathered);
      for_each_head(sample, [&](const HeadPlace& place) { attend(place, pass, keys, scores); });
    }
  }

  /// Behind the scores and their gradient in the workspace.
  T* attended_grad(const LayerPass<T>& pass) const { return reinterpret_cast<T*>(pass.workspace) + 2 * scores_size(); }

  void input_grad(const LayerPass<T>& pass, T* attended_grad) const {
    T* scores = reinterpret_cast<T*>(pass.workspace);
    T* scores_grad = scores + scores_size();
    T* angles = attended_grad + shape_.tokens() * width_;
    T* gathered = angles + angles_size();
    T* gathered_grads = gathered + gathered_size();
    T* qkv_grad = pass.stash_values(3);
    const T* qkv = pass.stash_values(0);
    std::fill(qkv_grad, qkv_grad + shape_.tokens() * qkv_width_, T(0));
    for (std::int64_t sample = 0; sample < shape_.samples; ++sample) {
      const KeyRows<const T> keys = keys_of(pass, qkv, sample, gathered);
      const KeyRows<T> grads = key_grads_of(qkv_grad, sample, gathered_grads);
      for_each_head(sample, [&](const HeadPlace& place) {
        for_each_rows([&](const RowRange& rows) {
          const T* attended = pass.stash_values(2);
          const auto p = matrix(scores, rows.size(), rows.keys);
          const auto dp = matrix(scores_grad, rows.size(), rows.keys);
          const auto dout = head_rows(attended_grad, place, rows);
          scores_of(place, rows, qkv, keys, scores);
          softmax_from_log_sums(place, rows, pass.stash_values(1), scores);
          multiply_transposed<T>(view(dout), head_keys(keys, place.value, rows), dp);
          accumulate_outer<T>(view(p), view(dout), head_keys(grads, place.value, rows));
          softmax_grad(head_rows(attended, place, rows), view(dout), view(p), dp);
          multiply<T>(view(dp), head_keys(keys, place.key, rows), query_rows(qkv_grad, place, rows));
          accumulate_outer<T>(view(dp), query_rows(qkv, place, rows), head_keys(grads, place.key, rows));
        });
      });
      if (shape_.before > 0) spread(pass, sample, gathered_grads, qkv_grad);
    }
    if (pass.key_grads != nullptr) add_later_slices(pass.key_grads, qkv_grad);
    if (rotary_) turn(qkv_grad, angles, T(-1));
  }

  std::int64_t scratch_bytes() const { return 0; }

 private:
  std::int64_t all_keys() const { return shape_.before + shape_.sequence; }
  std::int64_t scores_size() const { return std::min(kAttentionRows, shape_.sequence) * all_keys(); }
  std::int64_t angles_size() const { return rotary_ ? shape_.sequence * head_width_ : 0; }
  std::int64_t keys_width() const { return qkv_width_ - width_; }
  std::int64_t gathered_size() const { return shape_.before > 0 ? all_keys() * keys_width() : 0; }

  /// The keys and values of a sample: where they are, or with those of earlier slices in `gathered`.
  KeyRows<const T> keys_of(const LayerPass<T>& pass, const T* qkv, std::int64_t sample, T* gathered) const {
    if (shape_.before == 0) return {qkv + sample * shape_.sequence * qkv_width_, qkv_width_, 0};
    T* to = gathered;
    for (const EarlierKeys<T>& slice : pass.earlier) {
      to = copy_rows(slice.keys + sample * slice.sequence * slice.stride, slice.stride, slice.sequence, to);
    }
    copy_rows(qkv + sample * shape_.sequence * qkv_width_ + width_, qkv_width_, shape_.sequence, to);
    return {gathered, keys_width(), width_};
  }

  /// Keys and values of `rows` tokens one after the other; returns where the next goes.
  T* copy_rows(const T* from, std::int64_t stride, std::int64_t rows, T* to) const {
    for (std::int64_t t = 0; t < rows; ++t, from += stride) to = std::copy(from, from + keys_width(), to);
    return to;
  }

  /// Where the gradients of those are added up.
  KeyRows<T> key_grads_of(T* qkv_grad, std::int64_t sample, T* gathered) const {
    if (shape_.before == 0) return {qkv_grad + sample * shape_.sequence * qkv_width_, qkv_width_, 0};
    std::fill(gathered, gathered + gathered_size(), T(0));
    return {gathered, keys_width(), width_};
  }

  void add(T* sum, const T* row) const {
    for (std::int64_t j = 0; j < keys_width(); ++j) sum[j] += row[j];
  }

  /// Adds gathered gradients to those of the slices that they belong to.
  void spread(const LayerPass<T>& pass, std::int64_t sample, const T* gathered, T* qkv_grad) const {
    const T* from = gathered;
    for (const EarlierKeys<T>& slice : pass.earlier) {
      for (std::int64_t t = 0; t < slice.sequence; ++t, from += keys_width()) {
        add(slice.key_grads + (sample * slice.sequence + t) * keys_width(), from);
      }
    }
    for (std::int64_t t = 0; t < shape_.sequence; ++t, from += keys_width()) {
      add(qkv_grad + (sample * shape_.sequence + t) * qkv_width_ + width_, from);
    }
  }

  void add_later_slices(const T* key_grads, T* qkv_grad) const {
    for (std::int64_t t = 0; t < shape_.tokens(); ++t) {
      add(qkv_grad + t * qkv_width_ + width_, key_grads + t * keys_width());
    }
  }

  template <class F>
  void for_each_head(std::int64_t sample, F f) const {
    const std::int64_t group = heads_ / kv_heads_;
    for (std::int64_t head = 0; head < heads_; ++head) {
      const std::int64_t kv = head / group * head_width_;
      f(HeadPlace{.first_token = sample * shape_.sequence,
                  .query = head * head_width_,
                  .key = width_ + kv,
                  .value = width_ + kv_heads_ * head_width_ + kv,
                  .attended = head * head_width_,
                  .head = head});
    }
  }

  template <class F>
  void for_each_rows(F f) const {
    for (std::int64_t begin = 0; begin < shape_.sequence; begin += kAttentionRows) {
      const std::int64_t end = std::min(begin + kAttentionRows, shape_.sequence);
      f(RowRange{begin, end, shape_.before + (causal_ ? end : shape_.sequence)});
    }
  }

  template <class U>
  auto query_rows(U* qkv, const HeadPlace& place, const RowRange& rows) const {
    return matrix(qkv + (place.first_token + rows.begin) * qkv_width_ + place.query, rows.size(), head_width_,
                  qkv_width_);
  }
  template <class U>
  auto head_keys(const KeyRows<U>& keys, std::int64_t column, const RowRange& rows) const {
    return matrix(keys.rows + column - keys.shift, rows.keys, head_width_, keys.stride);
  }
  template <class U>
  auto head_rows(U* attended, const HeadPlace& place, const RowRange& rows) const {
    return matrix(attended + (place.first_token + rows.begin) * width_ + place.attended, rows.size(), head_width_,
                  width_);
  }
  std::int64_t visible(const RowRange& rows, std::int64_t row) const {
    return causal_ ? shape_.before + rows.begin + row + 1 : rows.keys;
  }

  /// Keys before those that a query sees.
  std::int64_t hidden(std::int64_t seen) const { return window_ == 0 || seen < window_ ? 0 : seen - window_; }

  void scores_of(const HeadPlace& place, const RowRange& rows, const T* qkv, const KeyRows<const T>& keys,
                 T* scores) const {
    multiply_transposed<T>(query_rows(qkv, place, rows), head_keys(keys, place.key, rows),
                           matrix(scores, rows.size(), rows.keys));
  }

  void attend(const HeadPlace& place, const LayerPass<T>& pass, const KeyRows<const T>& keys, T* scores) const {
    const T* qkv = pass.stash_values(0);
    T* log_sums = pass.stash_values(1);
    T* attended = pass.stash_values(2);
    for_each_rows([&](const RowRange& rows) {
      scores_of(place, rows, qkv, keys, scores);
      for (std::int64_t r = 0; r < rows.size(); ++r) {
        T* row = scores + r * rows.keys;
        const std::int64_t seen = visible(rows, r);
        const std::int64_t first = hidden(seen);
        for (std::int64_t j = first; j < seen; ++j) row[j] *= scale_;
        log_sums[(place.first_token + rows.begin + r) * heads_ + place.head] = softmax_row(row + first, seen - first);
        std::fill(row, row + first, T(0));
        std::fill(row + seen, row + rows.keys, T(0));
      }
      multiply<T>(view(matrix(scores, rows.size(), rows.keys)), head_keys(keys, place.value, rows),
                  head_rows(attended, place, rows));
    });
  }

  /// The probabilities of F once more, from the scores and the kept log-sums.
  void softmax_from_log_sums(const HeadPlace& place, const RowRange& rows, const T* log_sums, T* scores) const {
    for (std::int64_t r = 0; r < rows.size(); ++r) {
      T* row = scores + r * rows.keys;
      const std::int64_t seen = visible(rows, r);
      const T log_sum = log_sums[(place.first_token + rows.begin + r) * heads_ + place.head];
      const std::int64_t first = hidden(seen);
      std::fill(row, row + first, T(0));
      for (std::int64_t j = first; j < seen; ++j) row[j] = exponential(row[j] * scale_ - log_sum);
      std::fill(row + seen, row + rows.keys, T(0));
    }
  }

  /// dS = P (dP - sum_j P_j dP_j) * scale; the sum equals attended . d attended (FlashAttention, appendix B.4).
  void softmax_grad(MatrixView<const T> attended, MatrixView<const T> attended_grad, MatrixView<const T> p,
                    MatrixView<T> dp) const {
    for (std::int64_t r = 0; r < p.rows; ++r) {
      const T* o = attended.data + r * attended.stride;
      const T* grad = attended_grad.data + r * attended_grad.stride;
      const T sum = row_sum<T>(head_width_, [=](auto j) { return o[j] * grad[j]; });
      const T* probability = p.data + r * p.stride;
      T* ds = dp.data + r * dp.stride;
      for (std::int64_t j = 0; j < p.columns; ++j) ds[j] = probability[j] * (ds[j] - sum) * scale_;
    }
  }

  /// Turns all queries and keys; `angles` is workspace.
  void turn(T* qkv, T* angles, T direction) const {
    const Rotary<T> rotary(angles, turns_, shape_, head_width_);
    for (std::int64_t t = 0; t < shape_.tokens(); ++t) {
      T* row = qkv + t * qkv_width_;
      for (std::int64_t head = 0; head < heads_ + kv_heads_; ++head) {
        rotary.turn(row + head * head_width_, t % shape_.sequence, direction);
      }
    }
  }

  MicrobatchShape shape_;
  std::int64_t width_;
  std::int64_t heads_;
  std::int64_t kv_heads_;
  std::int64_t head_width_;
  std::int64_t qkv_width_;
  T scale_;
  bool causal_;
  bool rotary_;
  RotaryTurns turns_;
  std::int64_t window_;  ///< keys that a query sees at most, its own included; 0: no limit
};

}  // namespace

template <class T>
std::unique_ptr<Layer<T>> make_attention(const LayerSpec& spec, const MicrobatchShape& shape) {
  return std::make_unique<AttentionLayer<CpuArithmetic<T>, AttentionScores<T>>>(spec, shape);
}

template std::unique_ptr<Layer<float>> make_attention(const LayerSpec&, const MicrobatchShape&);
template std::unique_ptr<Layer<double>> make_attention(const LayerSpec&, const MicrobatchShape&);

}  // namespace plumb
