#include "trainer/cuda/kernels/optimizer.hpp"

#include <cmath>

#include "models/ground/error.hpp"
#include "trainer/cuda/kernels/segment_table.cuh"

namespace plumb::kernels {

namespace {

/// A rule with all its coefficients in float, as the CPU rounds them.
struct SgdRule {
  float rate, scale, momentum, of_velocity, of_gradient;
  bool plain;

  __device__ float operator()(float weight, float gradient, float* first, float*, float decay) const {
    const float whole = gradient * scale + decay * weight;
    float direction = whole;
    if (first != nullptr) direction = *first = momentum * *first + whole;
    if (!plain) direction = of_velocity * direction + of_gradient * whole;
    return weight - rate * direction;
  }
};

struct AdamRule {
  float rate, of_gradient, second_scale, scale, beta1, beta2, epsilon;
  bool decoupled, nesterov;

  __device__ float operator()(float weight, float gradient, float* first, float* second, float decay) const {
    const float shrink = decoupled ? decay : 1.0F;
    const float whole = gradient * scale + (decoupled ? 0.0F : decay) * weight;
    const float m = beta1 * *first + (1.0F - beta1) * whole;
    const float s = beta2 * *second + (1.0F - beta2) * whole * whole;
    *first = m;
    *second = s;
    const float numerator = nesterov ? rate * m + of_gradient * whole : rate * m;
    return shrink * weight - numerator / (sqrtf(s * second_scale) + epsilon);
  }
};

/// What multiplies m and g in the numerator (trainer/numbers/optimizer.cpp).
struct Numerator {
  double first = 0;
  double gradient = 0;
};
Numerator numerator(const OptimizerOptions& options, const UpdateStep& step, double beta1) {
  const auto t = static_cast<double>(step.update + 1);
  if (options.kind != OptimizerKind::kNAdam) return {step.learning_rate / (1.0 - std::pow(beta1, t)), 0};
  const auto mu = [&](double i) { return beta1 * (1 - 0.5 * std::pow(0.96, 0.004 * i)); };
  double product = 1;
  for (double i = 1; i <= t; ++i) product *= mu(i);
  return {step.learning_rate * mu(t + 1) / (1 - product * mu(t + 1)), step.learning_rate * (1 - mu(t)) / (1 - product)};
}

template <class T>
struct FollowerList {
  T* buffer[kMostFollowers];
  float keep[kMostFollowers];
  float lead[kMostFollowers];
  int count;
};

/// Blocks of the whole stage.
template <class T>
struct UpdateBlocks {
  T* weights;
  float* master;  ///< the weights themselves in float
  const float* gradients;
  float* first;
  float* second;
  FollowerList<T> followers;
};

/// `decays`: what the rule takes of segments that decay and of those that do not.
template <class T, class Rule>
__global__ void __launch_bounds__(kSegmentThreads)
    update_pieces(Rule rule, const __grid_constant__ UpdateBlocks<T> blocks, const __grid_constant__ SegmentTable table,
                  float2 decays) {
  const Piece piece = piece_of_block(table);
  const float decay = table.decayed[piece.segment] ? decays.x : decays.y;
  for (std::int64_t i = piece.begin + threadIdx.x; i < piece.end; i += kSegmentThreads) {
    const float was = blocks.master[i];
    float* first = blocks.first != nullptr ? blocks.first + i : nullptr;
    float* second = blocks.second != nullptr ? blocks.second + i : nullptr;
    const float now = rule(was, blocks.gradients[i], first, second, decay);
    blocks.master[i] = now;
    if constexpr (sizeof(T) < sizeof(float)) blocks.weights[i] = from_float<T>(now);
    for (int f = 0; f < blocks.followers.count; ++f) {
      T* x = blocks.followers.buffer[f] + i;
      const float keep = blocks.followers.keep[f];
      const float lead = blocks.followers.lead[f];
      *x = from_float<T>(now + (keep * (to_float(*x) - was) + lead * (now - was)));
    }
  }
}

template <class T>
FollowerList<T> followers_of(const UpdateStep& step) {
  FollowerList<T> list{};
  if (step.followers.size() > kMostFollowers) throw Error("more followers of the weights than an update on CUDA takes");
  for (const Follower& follower : step.followers) {
    const auto at = static_cast<std::size_t>(list.count++);
    list.buffer[at] = reinterpret_cast<T*>(follower.buffer);
    list.keep[at] = static_cast<float>(follower.keep);
    list.lead[at] = static_cast<float>(follower.lead);
  }
  return list;
}

template <class T>
UpdateBlocks<T> blocks_of(const OptimizerOptions& options, const UpdateStep& step, std::int64_t total,
                          const OptimizerBlocks<T>& given) {
  UpdateBlocks<T> blocks{.weights = given.weights,
                         .master = nullptr,
                         .gradients = given.gradients,
                         .first = given.state,
                         .second = nullptr,
                         .followers = followers_of<T>(step)};
  if constexpr (sizeof(T) < sizeof(float)) {
    blocks.master = given.state;
    blocks.first = given.state + total;
  } else {
    blocks.master = given.weights;
  }
  const std::int64_t states = optimizer_state_count(options);
  if (states < 1) blocks.first = nullptr;
  if (states > 1) blocks.second = blocks.first + total;
  return blocks;
}

AdamRule adam_rule(const OptimizerOptions& options, const UpdateStep& step) {
  const double beta1 = step.beta1 < 0 ? options.beta1 : step.beta1;
  const Numerator of = numerator(options, step, beta1);
  const auto t = static_cast<double>(step.update + 1);
  AdamRule rule{};
  rule.rate = static_cast<float>(of.first);
  rule.of_gradient = static_cast<float>(of.gradient);
  rule.second_scale = static_cast<float>(1.0 / (1.0 - std::pow(options.beta2, t)));
  rule.scale = static_cast<float>(step.gradient_scale);
  rule.beta1 = static_cast<float>(beta1);
  rule.beta2 = static_cast<float>(options.beta2);
  rule.epsilon = static_cast<float>(options.epsilon);
  rule.decoupled = options.kind != OptimizerKind::kAdam;
  rule.nesterov = options.kind == OptimizerKind::kNAdam;
  return rule;
}

SgdRule sgd_rule(const OptimizerOptions& options, const UpdateStep& step) {
  return {.rate = static_cast<float>(step.learning_rate),
          .scale = static_cast<float>(step.gradient_scale),
          .momentum = static_cast<float>(options.momentum),
          .of_velocity = static_cast<float>(step.velocity_weight),
          .of_gradient = static_cast<float>(step.gradient_weight),
          .plain = step.velocity_weight == 1 && step.gradient_weight == 0};
}

}  // namespace

template <class T>
void update_weights(const OptimizerOptions& options, const UpdateStep& step, std::span<const Segment> segments,
                    const OptimizerBlocks<T>& given, Stream stream) {
  std::int64_t total = 0;
  for (const Segment& segment : segments) total += segment.count;
  const UpdateBlocks<T> blocks = blocks_of(options, step, total, given);
  const double decay = options.weight_decay;
  for_tables(segments, [&](const SegmentTable& table, const LaunchShape& shape) {
    if (options.kind == OptimizerKind::kSgd) {
      const float2 decays{static_cast<float>(decay), 0.0F};
      return launch(update_pieces<T, SgdRule>, shape, stream, sgd_rule(options, step), blocks, table, decays);
    }
    const bool decoupled = options.kind != OptimizerKind::kAdam;
    const float2 decays{static_cast<float>(decoupled ? 1.0 - step.learning_rate * decay : decay),
                        decoupled ? 1.0F : 0.0F};
    launch(update_pieces<T, AdamRule>, shape, stream, adam_rule(options, step), blocks, table, decays);
  });
}

template void update_weights(const OptimizerOptions&, const UpdateStep&, std::span<const Segment>,
                             const OptimizerBlocks<float>&, Stream);
template void update_weights(const OptimizerOptions&, const UpdateStep&, std::span<const Segment>,
                             const OptimizerBlocks<BFloat16>&, Stream);

}  // namespace plumb::kernels
