#include "trainer/numbers/optimizer.hpp"

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

/// What multiplies m and g in the numerator.
struct Numerator {
  double first = 0;
  double gradient = 0;
};

double beta1_of(const OptimizerOptions& options, const UpdateStep& step) {
  return step.beta1 < 0 ? options.beta1 : step.beta1;
}

Numerator numerator(const OptimizerOptions& options, const UpdateStep& step) {
  const double beta1 = beta1_of(options, step);
  const auto t = static_cast<double>(step.update + 1);
  if (options.kind != OptimizerKind::kNAdam) return {step.learning_rate / (1.0 - std::pow(beta1, t)), 0};
  const auto mu = [&](double i) { return beta1 * (1 - 0.5 * std::pow(0.96, 0.004 * i)); };
  double product = 1;
  for (double i = 1; i <= t; ++i) product *= mu(i);
  return {step.learning_rate * mu(t + 1) / (1 - product * mu(t + 1)), step.learning_rate * (1 - mu(t)) / (1 - product)};
}

/// What an update does to every parameter.
struct Rule {
  const OptimizerOptions& options;
  const UpdateStep& step;
  Numerator numerator;
};

template <class T>
void sgd(const Rule& rule, double decay, const StateShare<T>& part) {
  const auto& [options, step, unused] = rule;
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
void adam(const Rule& rule, double decay, const StateShare<T>& part) {
  const auto& [options, step, of] = rule;
  const double t = static_cast<double>(step.update + 1);
  const T rate = static_cast<T>(of.first);
  const T of_gradient = static_cast<T>(of.gradient);
  const T second_scale = static_cast<T>(1.0 / (1.0 - std::pow(options.beta2, t)));
  const bool decoupled = options.kind != OptimizerKind::kAdam;
  const T shrink = static_cast<T>(decoupled ? 1.0 - step.learning_rate * decay : 1.0);
  const T in_gradient = static_cast<T>(decoupled ? 0.0 : decay);
  const T scale = static_cast<T>(step.gradient_scale);
  const T beta1 = static_cast<T>(beta1_of(options, step));
  const T beta2 = static_cast<T>(options.beta2);
  const T epsilon = static_cast<T>(options.epsilon);
  const bool nesterov = options.kind == OptimizerKind::kNAdam;
  for (std::int64_t i = 0; i < part.size; ++i) {
    const T gradient = part.gradients[i] * scale + in_gradient * part.weights[i];
    const T first = beta1 * part.first[i] + (T(1) - beta1) * gradient;
    const T second = beta2 * part.second[i] + (T(1) - beta2) * gradient * gradient;
    part.first[i] = first;
    part.second[i] = second;
    const T numerator = nesterov ? rate * first + of_gradient * gradient : rate * first;
    part.weights[i] = shrink * part.weights[i] - numerator / (std::sqrt(second * second_scale) + epsilon);
  }
}

template <class T>
void step_weights(const Rule& rule, double decay, const StateShare<T>& part) {
  if (rule.options.kind == OptimizerKind::kSgd) {
    sgd(rule, decay, part);
  } else {
    adam(rule, decay, part);
  }
}

/// Piece by piece, so that the old weights of a piece are still there when the followers want them: one pass over all.
/// `offset` of the share in the flat blocks.
template <class T>
void step_followed(const Rule& rule, double decay, const StateShare<T>& part, std::int64_t offset) {
  std::array<T, kPiece> old;
  for (std::int64_t begin = 0; begin < part.size; begin += kPiece) {
    StateShare<T> piece = part.from(begin);
    piece.size = std::min(kPiece, part.size - begin);
    std::copy_n(piece.weights, piece.size, old.data());
    step_weights(rule, decay, piece);
    for (const Follower& follower : rule.step.followers) {
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
  const bool has_moments = options.kind != OptimizerKind::kSgd;
  const Rule rule{options, step, has_moments ? numerator(options, step) : Numerator{}};
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
      step_weights(rule, decay, part);
    } else {
      step_followed(rule, decay, part, offset);
    }
    offset += parameter.count();
  }
}

template void update(const OptimizerOptions&, const UpdateStep&, std::span<const ParameterFacts>,
                     const StageParameters<float>&);
template void update(const OptimizerOptions&, const UpdateStep&, std::span<const ParameterFacts>,
                     const StageParameters<double>&);

}  // namespace plumb
