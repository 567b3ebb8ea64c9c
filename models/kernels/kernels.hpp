#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "models/kernels/collectives.hpp"
#include "models/kernels/expert_exchange.hpp"
#include "models/kernels/shape_shares.hpp"

namespace plumb {

/// Who takes part in a collective of a layer.
enum class GroupAxis : std::uint8_t {
  kTensor,
  kContext,
  kExpert,
  kExpertTensor,
  kData,
  kWeightShards,     ///< ranks that ZeRO shards weights over
  kGradientShards,   ///< gradients
  kOptimizerShards,  ///< optimizer state
  kWeightParts,      ///< ranks that update parts of the same shard of weights
  kGradientParts,    ///< parts of gradients
  kShardCopies,      ///< ranks with the same shard of optimizer state
  kExpertCopies
};

/// What a kernel that only moves bytes does: each kind reaches a share of the memory's rate of its own.
enum class Movement : std::uint8_t {
  kElementwise,  ///< activations, sums with dropout, rotary embedding
  kNorm,         ///< layer and RMS norms, forward and backward
  kSoftmax,      ///< scores of unfused attention: scaled, masked, normalised, dropped
  kLoss,         ///< cross-entropy of the logits
  kPermute,      ///< tokens to the order of their experts and back
  kOptimizer,    ///< Adam over what a device holds
  kCast,         ///< numbers from one format to another
  kDropout,      ///< dropout of the forward, which makes a random number for every number that it moves
};

inline constexpr std::size_t kMovementCount = 8;
inline constexpr std::array<std::string_view, kMovementCount> kMovementNames{
    "elementwise", "norm", "softmax", "loss", "permute", "optimizer", "cast", "dropout"};

/// One kernel of a device, or one collective.
struct Kernel {
  enum class Kind : std::uint8_t {
    kGemm,        ///< `count` products of m x k by k x n
    kAttention,   ///< one fused attention of `attention`, no traffic beyond its operands
    kMemory,      ///< moves `bytes`
    kRoofline,    ///< `flops` or `bytes`, whichever takes longer
    kCollective,  ///< `op` over `axis` with `bytes`
    kExchange,    ///< `exchange` over the expert ranks
    kMeasured,    ///< takes `seconds`
  };

  Kind kind = Kind::kMemory;
  ProductShape product{};
  AttentionShape attention{};
  Movement movement = Movement::kElementwise;
  double flops = 0;
  double bytes = 0;
  double seconds = 0;  ///< measured
  CollectiveOp op{};
  GroupAxis axis{};
  ExpertExchange exchange{};
  bool hidden = false;        ///< collective, exchange: runs beside the kernels of its pass
  bool routed = false;        ///< works on the tokens of experts: the host must know their counts before it starts it
  std::int32_t launches = 1;  ///< kernels that the host starts

  friend bool operator==(const Kernel&, const Kernel&) = default;
};

/// The kernels of one pass of one layer, in order.
struct PassKernels {
  std::vector<Kernel> list;

  /// Operands and result of 16 bits, each moved once.
  void gemm(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t count = 1);
  /// Adds a product of any shape. With `accumulated_bytes` its result is added to numbers of so many bytes each, which
  /// the product reads and writes (the epilogue of a weight gradient: no kernel of its own).
  void product(const ProductShape& shape, std::int64_t accumulated_bytes = 0);
  void attention(const AttentionShape& shape, double flops, double bytes, std::int32_t launches);
  void memory(double bytes, std::int32_t launches = 1, Movement movement = Movement::kElementwise);
  void roofline(double flops, double bytes);
  /// Adds a collective; nothing over a group of one.
  void collective(CollectiveOp op, GroupAxis axis, double bytes, bool hidden = false);
  void exchange(const ExpertExchange& exchange, bool hidden);
  void append(const PassKernels& other);

  double flops() const;
};

/// What the passes of a layer do on one device.
struct LayerKernels {
  PassKernels forward;
  PassKernels input_grad;
  PassKernels weight_grad;
  PassKernels again;  ///< what the backward repeats of the forward, unless the whole layer runs again

  void append(const LayerKernels& other);
};

}  // namespace plumb
