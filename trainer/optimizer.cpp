#include "trainer/optimizer.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

namespace plumb {

namespace {

/// One parameter's part of the flat blocks.
template <class T>
struct StateShare {
  std::int64_t size = 0;
  T* weights = nullptr;
  const T* gradients = nullptr;
  T* first = nullptr;   ///< velocity, or first moment
  T* second = nullptr;  ///< second moment

  StateShare from(std::int64_t begin) const {
    return {size - begin, weights + begin, gradients + begin, first == nullptr ? first : first + begin,
            second == nullptr ? second : second + begin};
  }
};

/// Numbers that are updated before their followers are.
constexpr std::int64_t kPiece = 1024;

template <class T>
void sgd(const OptimizerOptions& options, const UpdateStep& step, double decay, const StateShare<T>& part) {
  const T rate = static_cast<T>(step.learning_rate);
  const T scale = static_cast<T>(step.gradient_scale);
  const T weight_decay = static_cast<T>(decay);
  const T momentum = static_cast<T>(options.momentum);
  const T of_velocity = static_cast<T>(step.velocity_weight);
  const T of_gradient = static_cast<T>(step.gradient_weight);
  const bool plain = step.velocity_weight == 1 && step.gradient_weight == 0;
  for (std::int64_t i = 0; i < part.size; ++i) {
    const T gradient = part.gradients[i] * scale + weight_decay * part.weights[i];
    T direction = gradient;
    if (part.first != nullptr) direction = part.first[i] = momentum * part.first[i] + gradient;
    if (!plain) direction = of_velocity * direction + of_gradient * gradient;
    part.weights[i] -= rate * direction;
  }
}

template <class T>
void adam(const OptimizerOptions& options, const UpdateStep& step, double decay, const StateShare<T>& part) {
  const double t = static_cast<double>(step.update + 1);
  const T rate = static_cast<T>(step.learning_rate / (1.0 - std::pow(options.beta1, t)));
  const T second_scale = static_cast<T>(1.0 / (1.0 - std::pow(options.beta2, t)));
  const bool decoupled = options.kind == OptimizerKind::kAdamW;
  const T shrink = static_cast<T>(decoupled ? 1.0 - step.learning_rate * decay : 1.0);
  const T in_gradient = static_cast<T>(decoupled ? 0.0 : decay);
  const T scale = static_cast<T>(step.gradient_scale);
  const T beta1 = static_cast<T>(options.beta1);
  const T beta2 = static_cast<T>(options.beta2);
  const T epsilon = static_cast<T>(options.epsilon);
  for (std::int64_t i = 0; i < part.size; ++i) {
    const T gradient = part.gradients[i] * scale + in_gradient * part.weights[i];
    const T first = beta1 * part.first[i] + (T(1) - beta1) * gradient;
    const T second = beta2 * part.second[i] + (T(1) - beta2) * gradient * gradient;
    part.first[i] = first;
    part.second[i] = second;
    part.weights[i] = shrink * part.weights[i] - rate * first / (std::sqrt(second * second_scale) + epsilon);
  }
}

template <class T>
void step_weights(const OptimizerOptions& options, const UpdateStep& step, double decay, const StateShare<T>& part) {
  if (options.kind == OptimizerKind::kSgd) {
    sgd(options, step, decay, part);
  } else {
    adam(options, step, decay, part);
  }
}

/// Piece by piece, so that the old weights of a piece are still there when the followers want them: one pass over all.
/// `offset` of the share in the flat blocks.
template <class T>
void step_followed(const OptimizerOptions& options, const UpdateStep& step, double decay, const StateShare<T>& part,
                   std::int64_t offset) {
  std::array<T, kPiece> old;
  for (std::int64_t begin = 0; begin < part.size; begin += kPiece) {
    StateShare<T> piece = part.from(begin);
    piece.size = std::min(kPiece, part.size - begin);
    std::copy_n(piece.weights, piece.size, old.data());
    step_weights(options, step, decay, piece);
    for (const Follower& follower : step.followers) {
      T* x = reinterpret_cast<T*>(follower.buffer) + offset + begin;
      const T keep = static_cast<T>(follower.keep);
      const T lead = static_cast<T>(follower.lead);
      for (std::int64_t i = 0; i < piece.size; ++i) {
        const T was = old[static_cast<std::size_t>(i)];
        x[i] = piece.weights[i] + (keep * (x[i] - was) + lead * (piece.weights[i] - was));
      }
    }
  }
}

}  // namespace

std::int64_t optimizer_state_count(const OptimizerOptions& options) {
  if (options.kind == OptimizerKind::kSgd) return options.momentum == 0 ? 0 : 1;
  return 2;
}

template <class T>
void update(const OptimizerOptions& options, const UpdateStep& step, std::span<const ParameterFacts> parameters,
            const StageParameters<T>& stage) {
  std::int64_t total = 0;
  for (const ParameterFacts& parameter : parameters) total += parameter.count();
  const std::int64_t states = optimizer_state_count(options);
  std::int64_t offset = 0;
  for (const ParameterFacts& parameter : parameters) {
    const StateShare<T> part{.size = parameter.count(),
                             .weights = stage.weights + offset,
                             .gradients = stage.gradients + offset,
                             .first = states > 0 ? stage.state + offset : nullptr,
                             .second = states > 1 ? stage.state + total + offset : nullptr};
    const double decay = parameter.decayed ? options.weight_decay : 0.0;
    if (step.followers.empty()) {
      step_weights(options, step, decay, part);
    } else {
      step_followed(options, step, decay, part, offset);
    }
    offset += parameter.count();
  }
}

template void update(const OptimizerOptions&, const UpdateStep&, std::span<const ParameterFacts>,
                     const StageParameters<float>&);
template void update(const OptimizerOptions&, const UpdateStep&, std::span<const ParameterFacts>,
                     const StageParameters<double>&);

}  // namespace plumb
