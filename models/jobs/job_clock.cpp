#include "models/jobs/job_clock.hpp"

#include <algorithm>
#include <cmath>

#include "models/costs/time_limits.hpp"
#include "models/ground/units.hpp"

namespace plumb {

std::int64_t to_nanoseconds(double seconds) {
  constexpr double kOff = 1e-6;
  constexpr double kOffShare = 1e-12;
  return checked_ticks(std::ceil(seconds * kNsPerSecond * (1 - kOffShare) - kOff), "a pass of a stage");
}

std::int64_t surely_nanoseconds(double seconds, std::int64_t less) {
  return std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor(seconds * kNsPerSecond * (1 - 1e-9))) - less);
}

CommTime PassSeconds::communication() const {
  return {.all = to_nanoseconds(talking_s), .shown = to_nanoseconds(seconds() - computing_s)};
}

double JobClock::seconds_of(const KernelTime& time) const {
  return blocking_ ? time.device_s + time.host_s : time.seconds();
}

PassSeconds JobClock::of(const PassKernels& pass, bool is_forward) const {
  KernelTime all;
  KernelTime routed;
  double hidden_s = 0;
  double talking_s = 0;
  for (const Kernel& kernel : pass.list) {
    KernelTime time = kernel_time(kernel, device_, rates_);
    if (kernel.kind == Kernel::Kind::kCollective) {
      time.device_s += collective_s(kernel.op, group(kernel.axis), kernel.bytes);
    }
    if (kernel.kind == Kernel::Kind::kExchange) time.device_s += exchange_s(kernel.exchange);
    const bool talks = kernel.kind == Kernel::Kind::kCollective || kernel.kind == Kernel::Kind::kExchange;
    if (talks) talking_s += time.device_s;
    if (kernel.hidden && !blocking_) {
      hidden_s += time.device_s;
      time.device_s *= kernel.kind == Kernel::Kind::kExchange ? taken_share() : 0;
    }
    if (captured_ == CapturedGraphs::kAll || (captured_ == CapturedGraphs::kDense && !kernel.routed)) time.host_s = 0;
    (kernel.routed && is_forward && waits_for_counts_ ? routed : all) += time;
  }
  const double busy_s = seconds_of(all) + seconds_of(routed);
  all += routed;
  const KernelTime kernels{.device_s = all.device_s - (talking_s - hidden_s), .host_s = all.host_s};
  return {busy_s, hidden_s, std::min(busy_s, seconds_of(kernels)), talking_s};
}

ShardDevices shard_devices(const Cluster& cluster, const Parallelism& job) {
  const std::int64_t weights = job.shard_ranks(&ShardGroups::weights);
  const std::int64_t gradients = job.shard_ranks(&ShardGroups::gradients);
  const std::int64_t optimizer = job.shard_ranks(&ShardGroups::optimizer);
  const auto group = [&](std::int64_t ranks, std::int64_t inside) {
    return device_group(cluster, ranks, job.tensor * inside);
  };
  return {.weights = group(weights, 1),
          .gradients = group(gradients, 1),
          .optimizer = group(optimizer, 1),
          .weight_parts = group(optimizer / weights, weights),
          .gradient_parts = group(optimizer / gradients, gradients),
          .copies = group(job.replicas() / optimizer, optimizer)};
}

const DeviceGroup& JobClock::group(GroupAxis axis) const {
  switch (axis) {
    case GroupAxis::kTensor:
      return tensor_;
    case GroupAxis::kContext:
      return context_;
    case GroupAxis::kExpert:
      return expert_;
    case GroupAxis::kExpertTensor:
      return expert_tensor_;
    case GroupAxis::kWeightShards:
      return shards_.weights;
    case GroupAxis::kGradientShards:
      return shards_.gradients;
    case GroupAxis::kOptimizerShards:
      return shards_.optimizer;
    case GroupAxis::kWeightParts:
      return shards_.weight_parts;
    case GroupAxis::kGradientParts:
      return shards_.gradient_parts;
    case GroupAxis::kShardCopies:
      return shards_.copies;
    case GroupAxis::kExpertCopies:
      return expert_copies_;
    default:
      return data_;
  }
}

double JobClock::to_host_s(double bytes) const {
  if (host_.bytes_per_s == 0) return 0;
  double rate = host_.bytes_per_s / host_.devices_per_link;
  if (host_.host_bytes_per_s > 0) rate = std::min(rate, host_.host_bytes_per_s / devices_per_node_);
  return static_cast<double>(host_.latency_ns) / kNsPerSecond + bytes / rate;
}

double JobClock::exchange_s(const ExpertExchange& exchange) const {
  if (exchange.dispatcher == Dispatcher::kAllToAll) {
    return collective_s(CollectiveOp::kAllToAll, expert_, exchange.bytes * static_cast<double>(exchange.copies));
  }
  DeviceGroup reached = expert_;
  reached.inside.bytes_per_s *= rates_.inside_share;
  reached.between.bytes_per_s *= rates_.between_share;
  return static_cast<double>(rates_.collective_ns) / kNsPerSecond + exchange_seconds(exchange, reached);
}

}  // namespace plumb
