#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/cluster/cluster.hpp"
#include "models/jobs/kernels.hpp"

namespace plumb {

/// Efficiency of one class of matrix products: `m` x `k` by `k` x `n` reached `efficiency` of the peak.
struct GemmPoint {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  double efficiency = 0;

  friend bool operator==(const GemmPoint&, const GemmPoint&) = default;
};

/// Rates that kernels reach on one type of device: one table per type, from a profile, a user or
/// models/presets/devices.
///
/// Without a table (`gemms`), a product of m x n x k reaches
///
///     gemm_efficiency * waves / ceil(waves) * m n / (padded m n) * k / (k + gemm_half_k)
///
/// of the peak, with tiles of `tile_m` x `tile_n` and waves of `multiprocessors` tiles (kernel quantisation: Nvidia's
/// guide to matrix products). With a table, a product of (nearly) the shape of a point reaches its efficiency, and one
/// in between that of its nearest point, by the distance of the logarithms of m, n and k.
struct KernelRates {
  std::string device;            ///< its name begins with this
  std::string source;            ///< where the figures come from
  double gemm_efficiency = 0.8;  ///< largest share of the peak
  double gemm_half_k = 0;        ///< depth at which half of it is reached
  std::int64_t tile_m = 128;
  std::int64_t tile_n = 128;
  std::int64_t multiprocessors = 1;   ///< 1: no waves
  double attention_efficiency = 0.5;  ///< fused attention, share of the peak
  double memory_efficiency = 0.85;    ///< share of the memory's bytes per second
  double link_efficiency = 1;         ///< share of the links' bytes per second that collectives reach
  std::int64_t kernel_ns = 3000;      ///< a kernel takes this long besides its work
  std::int64_t host_ns = 0;  ///< the host needs this to start one kernel; a device waits when the host cannot keep up
  std::int64_t collective_ns = 0;  ///< a collective takes this long besides the link model
  std::int64_t pass_ns = 0;      ///< a pass of a stage takes this long besides its kernels (messages, synchronisation)
  std::int64_t update_ns = 0;    ///< an update takes this long besides its work
  double memory_reserve = 0.05;  ///< of what is allocated: fragmentation of the caching allocator
  std::int64_t context_bytes = 0;  ///< driver context and modules
  std::int64_t library_bytes = 0;  ///< workspaces of libraries and buffers of communicators
  std::vector<GemmPoint> gemms;    ///< the table

  double gemm_share(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t count = 1) const;

  /// The largest peak of tensors that fits into `memory_bytes` beside context, libraries and the allocator's headroom;
  /// at least 0.
  std::int64_t usable_bytes(std::int64_t memory_bytes) const;

  friend bool operator==(const KernelRates&, const KernelRates&) = default;
};

/// Reads and writes the document "plumbline-device" (models/jobs/JOBS.md). Throws `Error`.
KernelRates kernel_rates_from_json(std::string_view text, std::string_view file_name);
std::string kernel_rates_to_json(const KernelRates& rates);

/// The built-in rates of the type whose name `device.name` begins with; if there are none, rates made of the
/// efficiencies of the device itself.
KernelRates kernel_rates_of(const DeviceSpec& device);

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
