#include <algorithm>

#include "trainer/layers/kinds.hpp"
#include "trainer/layers/projection.hpp"
#include "trainer/layers/softmax.hpp"

namespace plumb {

namespace {

/// log(softmax(x / t)) of a row, entry by entry: x_j / t - `offset`.
template <class T>
class LogSoftmax {
 public:
  LogSoftmax(const T* row, std::int64_t n, double temperature)
      : row_(row), inverse_(T(1) / static_cast<T>(temperature)) {
    const T max = row_max(row, n) * inverse_;
    offset_ = max + std::log(row_sum<T>(n, [&](std::int64_t j) { return exponential(row_[j] * inverse_ - max); }));
  }
  T at(std::int64_t j) const { return row_[j] * inverse_ - offset_; }

 private:
  const T* row_;
  T inverse_;
  T offset_;
};

/// What a row of the student is held against.
template <class T>
struct RowTargets {
  const T* teacher;
  std::int32_t target;
  std::int64_t vocabulary;
};

/// The loss of a row of logits, which becomes its gradient times `scale`.
template <class T>
double distilled_row(T* row, const RowTargets<T>& of, const SoftTargets& soft, T scale) {
  const LogSoftmax<T> hard(row, of.vocabulary, 1);
  const LogSoftmax<T> student(row, of.vocabulary, soft.temperature);
  const LogSoftmax<T> teacher(of.teacher, of.vocabulary, soft.temperature);
  const double cross_entropy = -static_cast<double>(hard.at(of.target));
  const T w = static_cast<T>(soft.weight);
  const T from_teacher = w * static_cast<T>(soft.temperature);
  double divergence = 0;
  for (std::int64_t j = 0; j < of.vocabulary; ++j) {
    const T log_p = teacher.at(j);
    const T log_q = student.at(j);
    const T p = exponential(log_p);
    divergence += static_cast<double>(p) * static_cast<double>(log_p - log_q);
    const T wrong = exponential(hard.at(j)) - (j == of.target ? T(1) : T(0));
    row[j] = scale * ((T(1) - w) * wrong + from_teacher * (exponential(log_q) - p));
  }
  return (1 - soft.weight) * cross_entropy + soft.weight * soft.temperature * soft.temperature * divergence;
}

/// Logits, softmax and mean cross-entropy in one; rows without a target do not count. With the logits of a teacher
/// (`SoftTargets`) the loss of a row is
///
///     (1 - w) cross-entropy + w t^2 sum_j p_j (log p_j - log q_j),   p, q = softmax(logits / t) of teacher and student
///
/// Parameters: weight, bias (optional, of a classifier). Stash: gradient of the logits, made by F in place of the
/// logits: ((1 - w) (softmax - one at the target) + w t (q - p)) / loss_tokens.
template <class T>
class Head final : public Layer<T> {
 public:
  Head(const LayerSpec& spec, const MicrobatchShape& shape)
      : projection_{shape.tokens(), spec.width, spec.vocabulary},
        has_bias_(spec.kind == LayerKind::kClassifier && spec.bias) {}

  void forward(const LayerPass<T>& pass) const override {
    const SoftTargets& soft = pass.ids.soft;
    T* logits = soft.made != nullptr ? reinterpret_cast<T*>(soft.made) : pass.stash_values(0);
    projection_.forward(pass, pass.input, {pass.weights[0], has_bias_ ? pass.weights[1] : nullptr}, logits);
    if (soft.made != nullptr) return;
    const bool has_teacher = soft.given != nullptr && soft.weight > 0;
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
      if (has_teacher) {
        const T* said = reinterpret_cast<const T*>(soft.given) + t * vocabulary;
        loss += distilled_row(row, {said, target, vocabulary}, soft, scale);
        continue;
      }
      const T log_sum = softmax_row(row, vocabulary);
      loss += static_cast<double>(log_sum - target_logit);
      row[target] -= T(1);
      for (std::int64_t j = 0; j < vocabulary; ++j) row[j] *= scale;
    }
    *pass.loss = loss / pass.loss_tokens;
  }

  void input_grad(const LayerPass<T>& pass) const override {
    projection_.input_grad(pass, pass.stash_values(0), pass.weights[0], pass.input_grad);
  }

  void weight_grad(const LayerPass<T>& pass) const override {
    projection_.weight_grad(pass, pass.stash_values(0), pass.input, pass.gradients[0],
                            has_bias_ ? pass.gradients[1] : nullptr);
  }

 private:
  Projection<T> projection_;
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
