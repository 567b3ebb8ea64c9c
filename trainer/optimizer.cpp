#include "trainer/optimizer.hpp"

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
};

template <class T>
void sgd(const OptimizerOptions& options, const UpdateStep& step, double decay, const StateShare<T>& part) {
  const T rate = static_cast<T>(step.learning_rate);
  const T scale = static_cast<T>(step.gradient_scale);
  const T weight_decay = static_cast<T>(decay);
  const T momentum = static_cast<T>(options.momentum);
  for (std::int64_t i = 0; i < part.size; ++i) {
    T direction = part.gradients[i] * scale + weight_decay * part.weights[i];
    if (part.first != nullptr) direction = part.first[i] = momentum * part.first[i] + direction;
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
    if (options.kind == OptimizerKind::kSgd) {
      sgd(options, step, decay, part);
    } else {
      adam(options, step, decay, part);
    }
    offset += parameter.count();
  }
}

template void update(const OptimizerOptions&, const UpdateStep&, std::span<const ParameterFacts>,
                     const StageParameters<float>&);
template void update(const OptimizerOptions&, const UpdateStep&, std::span<const ParameterFacts>,
                     const StageParameters<double>&);

}  // namespace plumb
