#pragma once

#include <algorithm>
#include <cstdint>

#include "models/cluster/cluster.hpp"
#include "models/costs/pair_times.hpp"
#include "models/jobs/job_kernels.hpp"
#include "models/kernels/kernel_rates.hpp"

namespace plumb {

/// Rounded up, but for what doubles are off: stages together take no less than a stage of all their layers, as the
/// bounds of searches want it.
std::int64_t to_nanoseconds(double seconds);

/// Rounded down, and further than doubles are off; less so many nanoseconds, but not below 0.
std::int64_t surely_nanoseconds(double seconds, std::int64_t less);

/// Seconds of a pass.
struct PassSeconds {
  double busy_s = 0;       ///< kernels and the collectives on the critical path, or starting them, layer by layer
  double hidden_s = 0;     ///< collectives beside them
  double exchanged_s = 0;  ///< part of these for exchanges of tokens
  double computing_s = 0;  ///< kernels alone, or starting everything
  double talking_s = 0;    ///< all collectives

  PassSeconds& operator+=(const PassSeconds& other) {
    busy_s += other.busy_s;
    hidden_s += other.hidden_s;
    exchanged_s += other.exchanged_s;
    computing_s += other.computing_s;
    talking_s += other.talking_s;
    return *this;
  }
  /// Hidden collectives show where they outlast the kernels; exchanges go on more slowly until these end.
  double seconds() const;
  CommTime communication() const;
};

struct StageSeconds {
  PassSeconds f;
  PassSeconds i;  ///< with what runs again
  PassSeconds w;
  PassSeconds b;  ///< I and W as one

  StageSeconds& operator+=(const StageSeconds& other) {
    f += other.f;
    i += other.i;
    w += other.w;
    b += other.b;
    return *this;
  }
};

/// Who shares what ZeRO shards of dense weights (GroupAxis).
struct ShardDevices {
  DeviceGroup weights;
  DeviceGroup gradients;
  DeviceGroup optimizer;
  DeviceGroup weight_parts;
  DeviceGroup gradient_parts;
  DeviceGroup copies;
};

ShardDevices shard_devices(const Cluster& cluster, const Parallelism& job);

/// Rates of one device and the groups it takes part in.
class JobClock {
 public:
  JobClock(const Cluster& cluster, const Parallelism& job, const KernelRates& rates)
      : device_(cluster.devices.front()),
        host_(cluster.host_link),
        devices_per_node_(cluster.devices_per_node),
        rates_(rates),
        tensor_(device_group(cluster, job.tensor, 1)),
        context_(device_group(cluster, job.context, job.tensor)),
        expert_(device_group(cluster, job.expert, job.expert_parts())),
        expert_tensor_(device_group(cluster, job.expert_parts(), 1)),
        data_(device_group(cluster, job.replicas(), job.tensor)),
        shards_(shard_devices(cluster, job)),
        expert_copies_(device_group(cluster, job.expert_replicas(), job.expert_parts() * job.expert)),
        captured_(job.captured),
        blocking_(job.blocking_launches),
        waits_for_counts_(job.expert_capacity == 0) {}

  /// Returns a pass of one layer. In a forward without a capacity, the host waits at the experts for their counts of
  /// tokens, and is not ahead any more.
  PassSeconds of(const PassKernels& pass, bool is_forward = false) const;

  const DeviceGroup& group(GroupAxis axis) const;

  /// Returns the devices that hold the same experts.
  const DeviceGroup& expert_copies() const { return expert_copies_; }

  double collective_s(CollectiveOp op, const DeviceGroup& group, double bytes) const {
    return rates_.collective_s(op, group, bytes);
  }

  /// Returns the share of multiprocessors that are taken by an exchange beside other kernels (DeepEP's default; NCCL's
  /// channels are about as many); 0 where their number is not known.
  double taken_share() const {
    constexpr double kTaken = 20;
    return rates_.multiprocessors > 1 ? std::min(1.0, kTaken / static_cast<double>(rates_.multiprocessors)) : 0;
  }

  double exchange_s(const ExpertExchange& exchange) const;

  /// Returns the kernels and starting them: one beside the other, or one after the other where launches block.
  double seconds_of(const KernelTime& time) const;

  /// Returns the seconds of an optimizer that moves `bytes`.
  double updating_s(double bytes) const {
    return bytes / (device_.memory_bytes_per_s * rates_.memory_share(Movement::kOptimizer));
  }

  /// Returns the seconds to or from the host, while all devices of the node send as much.
  double to_host_s(double bytes) const;

  /// Returns the seconds of changing numbers from one format to another, in `bytes` read and written.
  double casting_s(double bytes) const {
    return bytes / (device_.memory_bytes_per_s * rates_.memory_share(Movement::kCast));
  }

 private:
  const DeviceSpec& device_;
  const HostLink& host_;
  std::int32_t devices_per_node_;
  const KernelRates& rates_;
  DeviceGroup tensor_;
  DeviceGroup context_;
  DeviceGroup expert_;
  DeviceGroup expert_tensor_;
  DeviceGroup data_;
  ShardDevices shards_;
  DeviceGroup expert_copies_;
  CapturedGraphs captured_;
  bool blocking_;
  bool waits_for_counts_;
};

}  // namespace plumb
