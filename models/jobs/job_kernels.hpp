#pragma once

#include <cstdint>
#include <vector>

#include "models/jobs/collectives.hpp"
#include "models/jobs/parallelism.hpp"
#include "models/network/network.hpp"

namespace plumb {

/// Who takes part in a collective of a layer.
enum class GroupAxis : std::uint8_t { kTensor, kContext, kExpert, kData, kExpertCopies };

/// One kernel of a device, or one collective.
struct Kernel {
  enum class Kind : std::uint8_t {
    kGemm,        ///< `count` products of m x k by k x n
    kAttention,   ///< one fused kernel of `flops`, no traffic beyond its operands
    kMemory,      ///< moves `bytes`
    kRoofline,    ///< `flops` or `bytes`, whichever takes longer
    kCollective,  ///< `op` over `axis` with `bytes`
    kMeasured,    ///< takes `seconds`
  };

  Kind kind = Kind::kMemory;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t count = 1;
  double flops = 0;
  double bytes = 0;
  double seconds = 0;  ///< measured
  CollectiveOp op{};
  GroupAxis axis{};
  bool hidden = false;        ///< collective: runs beside the kernels of its pass
  std::int32_t launches = 1;  ///< kernels that the host starts

  friend bool operator==(const Kernel&, const Kernel&) = default;
};

/// The kernels of one pass of one layer, in order.
struct PassKernels {
  std::vector<Kernel> list;

  void gemm(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t count = 1);
  void attention(double flops, double bytes, std::int32_t launches);
  void memory(double bytes, std::int32_t launches = 1);
  void roofline(double flops, double bytes);
  /// Nothing over a group of one.
  void collective(CollectiveOp op, GroupAxis axis, double bytes, bool hidden = false);
  void append(const PassKernels& other);

  double flops() const;
};

/// What the passes of a layer do on one device.
struct LayerKernels {
  PassKernels forward;
  PassKernels input_grad;
  PassKernels weight_grad;
  PassKernels again;  ///< what selective recompute repeats of the forward
};

/// Sizes of one microbatch on one device.
struct JobShape {
  Parallelism parallelism;
  std::int64_t samples = 1;
  std::int64_t sequence = 1;  ///< tokens of a whole sample

  JobShape(const Network& network, const Parallelism& job);

  /// Tokens of a device in attention and MLP, and in norms and sums.
  std::int64_t tokens() const { return samples * sequence / parallelism.context; }
  std::int64_t norm_tokens() const { return parallelism.sequence_parallel ? tokens() / parallelism.tensor : tokens(); }
  std::int64_t number_bytes() const { return parallelism.precision.activation_bytes; }
  /// Bytes of `features` numbers for each of `count` tokens.
  double bytes(std::int64_t count, std::int64_t features) const {
    return static_cast<double>(count) * static_cast<double>(features) * static_cast<double>(number_bytes());
  }
  /// Bytes of the scores of attention on one device, with one byte each.
  double scores(const LayerSpec& layer) const;
  /// Routed token copies that the experts of a device take, with those of the fullest one.
  std::int64_t expert_tokens(const LayerSpec& layer) const;
  bool masks(const LayerSpec& layer) const;
};

/// The kernels of `layer`: eager ones of Megatron-LM's kind (bias and activation, and softmax and its mask, are fused).
LayerKernels layer_kernels(const LayerSpec& layer, const JobShape& shape);

}  // namespace plumb
