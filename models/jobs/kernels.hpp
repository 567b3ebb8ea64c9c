#pragma once

#include <cstdint>
#include <vector>

#include "models/jobs/collectives.hpp"

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

}  // namespace plumb
