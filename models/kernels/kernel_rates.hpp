#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "models/cluster/cluster.hpp"
#include "models/kernels/kernels.hpp"

namespace plumb {

/// What the numbers of a device rest on.
enum class RatesBasis : std::uint8_t {
  kAssumed,   ///< data sheets and shares of the kind that published cost models use
  kFitted,    ///< to measured steps
  kMeasured,  ///< kernels timed on this type of device
};

/// One kind of collective, as measured in groups of `ranks` devices over `nodes` nodes: a message of any size takes
/// `latency_ns` and, for its bytes, 1/`share` of what an ideal ring over the cluster's links takes.
struct CollectivePoint {
  CollectiveOp op{};
  std::int64_t ranks = 1;
  std::int64_t nodes = 1;
  double share = 1;
  std::int64_t latency_ns = 0;

  friend bool operator==(const CollectivePoint&, const CollectivePoint&) = default;
};

/// Rates that kernels reach on one type of device: one table per type, from a profile, a user or
/// models/presets/devices. Shares are of the peaks in the cluster's document.
///
/// A product of m x n x k reaches
///
///     gemm_efficiency * gemm_by_pass * waves / ceil(waves) * m n / (padded m n)
///                     * k / (k + gemm_half_k + gemm_accumulate_k * bytes)
///
/// of the peak, with tiles of `tile_m` x `tile_n` and waves of `multiprocessors` tiles (kernel quantisation: Nvidia's
/// guide to matrix products); `bytes` are those that adding to a gradient moves beyond storing it in 16 bits. Fused
/// attention reaches attention_forward (or _backward) * r / (r + attention_half_rows) with r = heads * rows. Measured
/// shapes (`gemms`, `attentions`) correct both near them (`table_factor`).
struct KernelRates {
  std::string device;  ///< its name begins with this
  std::string source;  ///< where the figures come from
  RatesBasis basis = RatesBasis::kAssumed;
  std::int64_t fitted_rows = 0;  ///< kFitted: measured steps that took part
  double expected_error = 0;     ///< mean relative error on measured steps that took no part; 0: not known
  /// Peak of products by format, in multiples of the cluster's `flops_per_s` (16 bits).
  std::array<double, kMatrixFormatCount> peaks{1, 1, 1, 1, 1, 1};

  double gemm_efficiency = 0.8;                                 ///< largest share of the peak
  std::array<double, kProductPassCount> gemm_by_pass{1, 1, 1};  ///< factor on it
  double gemm_half_k = 0;                                       ///< depth at which half of it is reached
  double gemm_accumulate_k = 0;                                 ///< depth that one byte of adding costs
  std::int64_t tile_m = 128;
  std::int64_t tile_n = 128;
  std::int64_t multiprocessors = 1;  ///< 1: no waves
  double attention_forward = 0.5;    ///< fused attention, largest share of the peak
  double attention_backward = 0.45;
  double attention_half_rows = 0;  ///< rows of all heads at which half of it is reached
  /// Share of the memory's bytes per second, by `Movement`.
  std::array<double, kMovementCount> memory_shares{0.85, 0.85, 0.85, 0.85, 0.85, 0.85, 0.85, 0.85};
  double inside_share = 1;        ///< share of the bytes per second that collectives reach inside a node
  double between_share = 1;       ///< and between nodes
  bool any_layout = false;        ///< products in 8 bits read operands by rows or by columns (Blackwell)
  bool switch_reduces = false;    ///< the switch inside a node adds up (NVLink SHARP)
  bool says_formats = false;      ///< `peaks` are given; otherwise nothing is known of other formats than 16 bits
  std::int64_t kernel_ns = 3000;  ///< a kernel takes this long besides its work
  std::int64_t host_ns = 0;  ///< the host needs this to start one kernel; a device waits when the host cannot keep up
  std::int64_t collective_ns = 0;  ///< a collective takes this long besides the link model
  std::int64_t update_ns = 0;      ///< an update takes this long besides its work
  double memory_reserve = 0.05;    ///< share of what is allocated: fragmentation of the caching allocator
  std::int64_t context_bytes = 0;  ///< driver context and modules
  std::int64_t library_bytes = 0;  ///< workspaces of libraries and buffers of communicators
  /// Workspace of matrix products that PyTorch and Transformer Engine take from the allocator: 32 MiB each from Hopper
  /// on, 8.1 and 4 MiB before (`CUBLAS_WORKSPACE_CONFIG`).
  std::int64_t workspace_bytes = std::int64_t{64} << 20;
  double watts = 0;  ///< power limit of the device that reaches these rates; 0: the rates are not known to follow it
  std::vector<GemmPoint> gemms;
  std::vector<AttentionPoint> attentions;
  std::vector<CollectivePoint> collectives;

  /// Shares of the peak of their format, above 0 and at most 1.
  double gemm_share(const ProductShape& shape) const;
  double attention_share(const AttentionShape& shape) const;
  double memory_share(Movement movement) const { return memory_shares[static_cast<std::size_t>(movement)]; }
  void set_memory_shares(double share) { memory_shares.fill(share); }
  double peak(MatrixFormat format) const { return peaks[static_cast<std::size_t>(format)]; }
  /// Returns whether the device multiplies in this format: faster than in 16 bits, or nothing is known of it.
  bool has_format(MatrixFormat format) const;

  /// Returns the seconds of a collective of `group`, whose links are those of the cluster; 0 for one rank, and where
  /// nothing is sent.
  double collective_s(CollectiveOp op, const DeviceGroup& group, double bytes) const;

  friend bool operator==(const KernelRates&, const KernelRates&) = default;
};

/// Returns the rates of a device that is limited to so many watts: products and attention go with the 0.87th power of
/// them (results/public/README.md says what that was measured on), kernels that move memory stay. Throws `Error` where
/// the rates are not known to follow the power.
KernelRates at_power(KernelRates rates, double watts);

/// Throws `Error`, which names the formats that there are, for products in a format that the device does not have.
void require_format(const KernelRates& rates, MatrixFormat format);

/// Seconds of kernels on `device` at speed 1, without collectives; what the host needs to start them.
struct KernelTime {
  double device_s = 0;
  double host_s = 0;

  /// The device waits for the host, or the host is ahead.
  double seconds() const { return device_s > host_s ? device_s : host_s; }
  KernelTime& operator+=(const KernelTime& other) {
    device_s += other.device_s;
    host_s += other.host_s;
    return *this;
  }
};
KernelTime kernel_time(const Kernel& kernel, const DeviceSpec& device, const KernelRates& rates);

}  // namespace plumb
