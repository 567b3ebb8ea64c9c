#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/layers/layer_facts.hpp"
#include "models/network/network.hpp"

namespace plumb {

enum class OptimizerKind : std::uint8_t {
  kSgd,    ///< with momentum, in PyTorch's form
  kAdam,   ///< weight decay added to the gradient
  kAdamW,  ///< weight decay applied to the weights
  kNAdam,  ///< with Nesterov's momentum and AdamW's weight decay
};

/// `t` counts updates from 0, `a` is the learning rate, `g` the mean gradient (design of the rules:
/// Kingma and Ba, 2015; Loshchilov and Hutter, 2019; PyTorch's conventions).
///
///     SGD     g += decay w;  v <- momentum v + g;  w <- w - a v
///     Adam    g += decay w;  m <- beta1 m + (1 - beta1) g;  s <- beta2 s + (1 - beta2) g^2
///             w <- w - a (m / (1 - beta1^(t+1))) / (sqrt(s / (1 - beta2^(t+1))) + epsilon)
///     AdamW   w <- (1 - a decay) w, then Adam without decay in g
///     NAdam   as AdamW, with (mu(t+2) m / (1 - mu(1) ... mu(t+2)) + (1 - mu(t+1)) g / (1 - mu(1) ... mu(t+1))) instead
///             of the corrected m, and mu(i) = beta1 (1 - 0.96^(0.004 i) / 2)  (Dozat, 2016)
struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::kAdamW;
  double momentum = 0.9;       ///< SGD; 0 needs no state
  double beta1 = 0.9;          ///< Adam, AdamW
  double beta2 = 0.999;        ///< Adam, AdamW
  double epsilon = 1e-8;       ///< Adam, AdamW
  double weight_decay = 0.01;  ///< decay of matrices and tables; biases and norm scales do not decay

  friend bool operator==(const OptimizerOptions&, const OptimizerOptions&) = default;
};

/// Returns the numbers that the optimizer keeps per parameter: 0, 1 or 2.
std::int64_t optimizer_state_count(const OptimizerOptions& options);

/// Sizes for `StageLayout` when training in T.
template <class T>
Precision precision_of(const OptimizerOptions& options) {
  constexpr auto kBytes = static_cast<std::int64_t>(sizeof(T));
  return {kBytes, kBytes, kBytes, kBytes * optimizer_state_count(options)};
}

/// The flat blocks of a stage, parameters packed in the order of its layout.
/// State: all velocities (SGD), or all first moments and then all second ones (Adam). It starts as zeros.
template <class T>
struct StageParameters {
  T* weights = nullptr;
  const T* gradients = nullptr;
  T* state = nullptr;
};

/// A buffer that follows the weights: x' = w' + keep (x - w) + lead (w' - w), where w' are the new weights.
/// keep = 0: lead = 0 copies the new weights, -1 the old ones, n extrapolates n updates ahead.
struct Follower {
  std::byte* buffer = nullptr;  ///< as long as the weights
  double keep = 0;
  double lead = 0;
};

/// What differs from update to update.
struct UpdateStep {
  std::int64_t update = 0;  ///< updates done before
  double learning_rate = 0;
  double gradient_scale = 1.0;  ///< multiplies the gradients: 1 / microbatches, times a clip factor
  bool keep_gradients = false;  ///< they are not zeros afterwards, because the update may be made again
  double velocity_weight = 1;   ///< SGD with momentum: w <- w - a (velocity_weight v + gradient_weight g)
  double gradient_weight = 0;
  double beta1 = -1;                     ///< Adam and kin: instead of the optimizer's; negative: as there
  std::vector<Follower> followers = {};  ///< updated in the same pass
};

/// Updates a stage's weights and optimizer state in place. Element by element: the result does not depend on how the
/// network is cut into stages.
template <class T>
void update(const OptimizerOptions& options, const UpdateStep& step, std::span<const ParameterFacts> parameters,
            const StageParameters<T>& stage);

}  // namespace plumb
