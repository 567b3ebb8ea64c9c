#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "models/jobs/layer_recompute.hpp"
#include "models/jobs/shard_groups.hpp"
#include "models/kernels/dispatcher.hpp"
#include "models/kernels/matrix_format.hpp"
#include "models/network/network.hpp"

namespace plumb {

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
  kSummed,        ///< as kPassed, and a kernel of its own adds it to the accumulator (PyTorch, Megatron-DeepSpeed)
};

/// What the host starts as one captured graph (CUDA graphs) instead of kernel by kernel.
enum class CapturedGraphs : std::uint8_t {
  kNone,
  kDense,  ///< all but the experts of every layer, whose counts of tokens the host must know
  kAll,    ///< the whole pass
};

inline constexpr std::array<std::string_view, 3> kCapturedGraphNames{"none", "dense", "all"};

/// What an update does to gradients besides reducing them and reading them in the optimizer.
enum class GradientPasses : std::uint8_t {
  kNone,
  kClipped,  ///< set to zero for the next step; their norm is taken and they are scaled by whoever updates
  kScaled,   ///< as kClipped, and before the reduction looked through for what is not finite and, where there are
             ///< several data ranks, divided by their number (Megatron-LM's default)
};

inline constexpr std::array<std::string_view, 3> kGradientPassNames{"none", "clipped", "scaled"};

/// How a job is spread over devices inside every pipeline stage, and how it computes.
///
/// Ranks are laid out as Megatron does: tensor fastest, then context, then data, pipeline slowest. The layers with
/// experts divide the same tensor x context x data ranks anew: `expert_tensor` fastest, then `expert`, then the ranks
/// that hold the same experts ("parallel folding", Liu et al. 2025, arXiv 2504.14960). So experts stay inside a node as
/// long as expert_tensor x expert ranks fit into one.
struct Parallelism {
  std::int64_t tensor = 1;
  std::int64_t context = 1;
  std::int64_t expert = 1;
  std::int64_t data = 1;
  /// By place of the pipeline, in the cluster's order, where degrees are unlike (`tensor` is the largest); else empty.
  std::vector<std::int32_t> tensor_by_place{};
  bool sequence_parallel = false;  ///< norms and dropout on 1/tensor of the tokens; reduce-scatter + all-gather
  ZeroStage zero = ZeroStage::kNone;
  ActivationRecompute recompute = ActivationRecompute::kNone;
  std::int64_t recompute_layers = 0;  ///< number of the first transformer layers of a stage, for `kFull`; 0: all
  std::int64_t microbatch_size = 0;   ///< samples of one data rank; 0: the network's
  std::int64_t sequence = 0;          ///< tokens per sample; 0: the network's
  Precision precision = kMixedPrecision;
  bool flash_attention = true;    ///< nothing of size sequence x sequence is kept or moved
  std::optional<bool> dropout{};  ///< one-byte masks are kept; without a value: networks with biases in attention
  bool fused_loss = false;        ///< one kernel for the loss, which writes its gradient over the logits
  bool loss_in_place = false;     ///< many kernels for the loss, but no copy of the logits in 32 bits is kept
  bool padded_vocabulary = true;  ///< rows of the head are filled up to what products like (Megatron: multiples of
                                  ///< 128); otherwise a tensor rank has vocabulary / tensor of them, rounded down
  WeightGradients weight_gradients = WeightGradients::kPassed;
  bool scatter_gather = true;      ///< every tensor rank sends 1/tensor of a message between stages
  bool overlap_gradients = false;  ///< the reduction of gradients overlaps the last backward
  bool overlap_tensor = false;     ///< the sum of input gradients overlaps W
  bool overlap_weights = true;     ///< ZeRO-3 gathers the weights of the next layer while one computes (prefetch)
  double expert_capacity = 0;      ///< tokens that an expert takes, relative to the mean: more are dropped, fewer are
                                   ///< filled up; 0: it takes what comes
  double expert_imbalance = 1.0;   ///< without a capacity: tokens of the fullest expert rank, relative to the mean
  std::int64_t expert_tensor = 0;  ///< ranks that divide every expert; 0: as `tensor`
  Dispatcher dispatcher = Dispatcher::kAllToAll;
  bool overlap_parameters = false;  ///< ZeRO-1 and -2 gather the new weights beside the first forward
  bool overlap_experts = false;     ///< tokens travel to experts and back beside the kernels of the pass
  bool overlap_products = false;    ///< sequence parallelism exchanges tensor - 1 of `tensor` parts beside the products
  bool context_by_heads = false;    ///< context ranks exchange heads and then see whole sequences (Ulysses, Megatron's
                                    ///< a2a), instead of passing keys and values on (ring)
  bool blocking_launches = false;   ///< the host waits for every kernel that it starts (CUDA_LAUNCH_BLOCKING=1)
  CapturedGraphs captured{};
  GradientPasses gradient_passes{};
  RecomputeModules modules{};  ///< parts of a layer that run again, beside `recompute`
  MatrixFormat format =
      MatrixFormat::kBf16;              ///< format of the products of layers with weights, but for head and routers
  bool formatted_head = false;          ///< the head's products are in `format`, too
  bool low_precision_dispatch = false;  ///< tokens travel to their experts in 8 bits (DeepSeek-V3)
  std::int64_t adapter_rank = 0;        ///< only low-rank adapters (LoRA, Hu et al. 2021) are trained; 0: everything is
  LoraTargets adapter_targets{};        ///< what has adapters
  ShardGroups shard_groups{};           ///< over which of the ranks with the same weights ZeRO shards
  double gradient_share = 1;  ///< bytes of a gradient on its way to other ranks, relative to those of one that is
                              ///< not compressed
  /// Beside `zero` the first layers of every stage are sharded as by ZeRO 3, as many as counts say (OSDP). Without
  /// counts a stage has the passes of `zero`, and the memory and the update of ZeRO 3, than which no counts are better.
  bool zero_by_layer = false;
  /// Some stashes of every stage are on the host between forward and backward, as counts say. Without counts a stage
  /// keeps nothing, than which no counts are better.
  bool offload_by_stage = false;
  /// Bits of a number of an activation, and of its gradient, on the way between stages; 0: as they are computed.
  std::int32_t activation_bits = 0;
  std::int32_t activation_grad_bits = 0;
  double storage_bytes_per_s = 0;  ///< storage devices keep the state of the optimizer and update it, so many bytes a
                                   ///< second for every device of the job (Smart-Infinity); 0: devices do it themselves

  /// Returns the devices of one pipeline stage, of the largest where they are unlike.
  std::int64_t devices_per_stage() const { return tensor * context * data; }
  bool has_unlike_tensor() const { return !tensor_by_place.empty(); }
  std::int64_t tensor_of(std::int32_t place) const {
    return has_unlike_tensor() ? tensor_by_place[static_cast<std::size_t>(place)] : tensor;
  }
  std::int64_t devices_of(std::int32_t place) const { return tensor_of(place) * context * data; }
  /// Returns the devices that hold the same dense weights.
  std::int64_t replicas() const { return context * data; }
  /// Returns the size of a group of `shard_groups` for dense weights, where ZeRO shards what it is for.
  std::int64_t shard_ranks(std::int64_t ShardGroups::*part) const {
    return shard_groups.*part > 0 ? shard_groups.*part : replicas();
  }
  /// Returns the devices that divide one expert, and devices that hold the same part of the same experts.
  std::int64_t expert_parts() const { return expert_tensor > 0 ? expert_tensor : tensor; }
  std::int64_t expert_replicas() const { return devices_per_stage() / (expert_parts() * expert); }
  /// Returns the bytes of a weight on its way from the ranks that ZeRO keeps it on.
  double gathered_weight_bytes() const;
  /// Returns the bytes of an activation that tensor ranks gather for a product, relative to those of one in 16 bits.
  double gathered_share() const;
  /// Returns the tokens of the fullest expert rank, relative to the mean.
  double expert_load() const { return expert_capacity > 0 ? expert_capacity : expert_imbalance; }

  friend bool operator==(const Parallelism&, const Parallelism&) = default;
};

/// Throws `Error` when `network` cannot be divided like this: heads, widths and experts that a degree does not divide,
/// expert ranks without a layer with experts, context degrees that do not divide the sequence, experts that are divided
/// otherwise than the dense layers where the tokens are not (no sequence parallelism), shard groups that do not divide
/// the ranks with the same weights or are not for ZeRO or a network with experts, and shares of gradients beyond 1.
void check_parallelism(const Network& network, const Parallelism& parallelism);

}  // namespace plumb
