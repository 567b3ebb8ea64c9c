#pragma once

#include <cstdint>
#include <optional>

#include "models/network/network.hpp"

namespace plumb {

/// Which activations are kept from the forward to the backward, and which are computed again.
enum class ActivationRecompute : std::uint8_t {
  kNone,
  kSelective,  ///< scores and softmax of attention are computed again (Korthikanti et al. 2022)
  kFull,       ///< every layer keeps its input only and runs its forward again
};

/// ZeRO stage: what is sharded over data ranks (Rajbhandari et al. 2020).
enum class ZeroStage : std::uint8_t {
  kNone = 0,
  kOptimizer = 1,  ///< Megatron's distributed optimizer
  kGradients = 2,
  kWeights = 3,  ///< FSDP: weights are gathered layer by layer, forward and backward
};

/// How the gradient of a weight reaches its accumulator.
enum class WeightGradients : std::uint8_t {
  kAdded,         ///< the product adds to the accumulator, and nothing else exists
  kPassed,        ///< a tensor of the weight's size and precision is alive while an operation runs backward: what
                  ///< PyTorch makes, and what Megatron passes on empty where the product has added
  kPlaceholders,  ///< as kPassed, but of layers one empty tensor per shape is kept (Transformer Engine since 2.3)
};

/// How a job is spread over devices inside every pipeline stage, and how it computes.
///
/// Ranks are laid out as Megatron does: tensor fastest, then context, then data, pipeline slowest. Experts are divided
/// over the ranks of context and data (`expert` of them) and by tensor, too.
struct Parallelism {
  std::int64_t tensor = 1;
  std::int64_t context = 1;
  std::int64_t expert = 1;
  std::int64_t data = 1;
  bool sequence_parallel = false;  ///< norms and dropout on 1/tensor of the tokens; reduce-scatter + all-gather
  ZeroStage zero = ZeroStage::kNone;
  ActivationRecompute recompute = ActivationRecompute::kNone;
  std::int64_t microbatch_size = 0;  ///< samples of one data rank; 0: the network's
  std::int64_t sequence = 0;         ///< tokens per sample; 0: the network's
  Precision precision = kMixedPrecision;
  bool flash_attention = true;     ///< nothing of size sequence x sequence is kept or moved
  std::optional<bool> dropout{};   ///< one-byte masks are kept; without a value: networks with biases in attention
  bool fused_loss = false;         ///< the loss writes its gradient over the logits: no copy of them in 32 bits
  WeightGradients weight_gradients = WeightGradients::kPassed;
  bool scatter_gather = true;      ///< every tensor rank sends 1/tensor of a message between stages
  bool overlap_gradients = false;  ///< the reduction of gradients overlaps the last backward
  bool overlap_tensor = false;     ///< the sum of input gradients overlaps W
  bool overlap_weights = true;     ///< gathering weights (ZeRO-3) overlaps compute
  double expert_capacity = 1.0;    ///< tokens of the busiest expert, relative to the mean

  /// Devices of one pipeline stage.
  std::int64_t devices_per_stage() const { return tensor * context * data; }
  /// Devices that hold the same dense weights.
  std::int64_t replicas() const { return context * data; }

  friend bool operator==(const Parallelism&, const Parallelism&) = default;
};

/// Throws `Error` when `network` cannot be divided like this: heads, widths and experts that a degree does not divide,
/// expert ranks without a layer with experts, context degrees that do not divide the sequence.
void check_parallelism(const Network& network, const Parallelism& parallelism);

}  // namespace plumb
