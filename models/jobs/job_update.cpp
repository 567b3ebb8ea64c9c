#include "models/jobs/job_update.hpp"

#include <algorithm>

#include "models/ground/units.hpp"

namespace plumb {
namespace {

/// DeepSpeed's optimizer of bf16 keeps the sums of gradients in 32 bits on all ranks, though each updates a part.
bool reduces_all(const Parallelism& job) {
  return job.weight_gradients == WeightGradients::kSummed && job.precision.gradient_bytes > job.precision.weight_bytes;
}

/// Gradients are read and written smaller, and the other way round when their sum is there.
double coding_s(const DeviceParameters& parameters, const Parallelism& job, const JobClock& clock) {
  if (job.replicas() < 2) return 0;
  const auto bytes = static_cast<double>(parameters.all() * job.precision.gradient_bytes);
  return clock.casting_s(2 * bytes * (1 + job.gradient_share));
}

/// Bytes that `GradientPasses` moves: written once by zeroing, read by each look at them, read and written when scaled.
/// `own`: gradients that the device updates, of `all` that it holds. Megatron-LM d98e8a6: `param_and_grad_buffer.py`
/// (`reset`, `check_grads`, `start_grad_sync`), `clip_grads.py`.
double passed_over_bytes(double own, double all, const Parallelism& job) {
  if (job.gradient_passes == GradientPasses::kNone) return 0;
  double passes = 1;
  if (job.gradient_passes == GradientPasses::kScaled) passes += job.replicas() > 1 ? 1 + 2 : 1;
  constexpr double kClipping = 1 + 2;
  return static_cast<double>(job.precision.gradient_bytes) * (passes * all + kClipping * own);
}

/// Parameters that the optimizer of one device updates.
double updated_parameters(const DeviceParameters& parameters, const Parallelism& job) {
  if (job.zero == ZeroStage::kNone) return static_cast<double>(parameters.all());
  return static_cast<double>(parameters.dense) / static_cast<double>(job.shard_ranks(&ShardGroups::optimizer)) +
         static_cast<double>(parameters.expert) / static_cast<double>(job.expert_replicas());
}

/// Parameters of a dense shard of what `part` groups.
double shard_of(const DeviceParameters& parameters, const Parallelism& job, std::int64_t ShardGroups::*part) {
  return static_cast<double>(parameters.dense) / static_cast<double>(job.shard_ranks(part));
}

/// Every group has sums of its own: from shards of gradients to those of the optimizer, where these are smaller, and
/// then between the copies of a shard.
double between_groups_s(const DeviceParameters& parameters, const Parallelism& job, const JobClock& clock,
                        double gradient_bytes) {
  double seconds = 0;
  if (job.zero >= ZeroStage::kGradients) {
    seconds += clock.collective_s(CollectiveOp::kReduceScatter, clock.group(GroupAxis::kGradientParts),
                                  shard_of(parameters, job, &ShardGroups::gradients) * gradient_bytes);
  }
  const double share = static_cast<double>(parameters.dense) * gradient_bytes /
                       static_cast<double>(job.shard_ranks(&ShardGroups::optimizer));
  return seconds + clock.collective_s(CollectiveOp::kAllReduce, clock.group(GroupAxis::kShardCopies), share);
}

/// New weights to those who hold the same shard of weights, and have updated other parts of it.
double weight_parts_s(const DeviceParameters& parameters, const Parallelism& job, const JobClock& clock) {
  return clock.collective_s(CollectiveOp::kAllGather, clock.group(GroupAxis::kWeightParts),
                            shard_of(parameters, job, &ShardGroups::weights) * job.gathered_weight_bytes());
}

UpdateSeconds operator+(const UpdateSeconds& one, const UpdateSeconds& other) {
  return {one.reduce_s + other.reduce_s, one.optimizer_s + other.optimizer_s, one.gather_s + other.gather_s};
}

}  // namespace

UpdateSeconds update_seconds(const DeviceParameters& of_stage, const JobShape& shape, const JobClock& clock,
                             const StageMemory& memory, const StageTimes& hides) {
  const Parallelism& job = shape.parallelism;
  // Adapters are too small for their messages to count.
  const DeviceParameters parameters = job.adapter_rank > 0 ? DeviceParameters{} : of_stage;
  const DeviceGroup& data = clock.group(GroupAxis::kOptimizerShards);
  const DeviceGroup& experts = clock.expert_copies();
  const auto over_ranks = [&](CollectiveOp op, double each) {
    return clock.collective_s(op, data, static_cast<double>(parameters.dense) * each) +
           clock.collective_s(op, experts, static_cast<double>(parameters.expert) * each);
  };
  const double gradient_bytes = static_cast<double>(job.precision.gradient_bytes) * job.gradient_share;
  UpdateSeconds update;
  if (job.zero == ZeroStage::kNone) update.reduce_s = over_ranks(CollectiveOp::kAllReduce, gradient_bytes);
  if (job.zero == ZeroStage::kOptimizer) {
    const CollectiveOp op = reduces_all(job) ? CollectiveOp::kAllReduce : CollectiveOp::kReduceScatter;
    update.reduce_s = over_ranks(op, gradient_bytes);
  }
  if (job.zero != ZeroStage::kNone) update.reduce_s += between_groups_s(parameters, job, clock, gradient_bytes);
  const auto beside = [](double seconds, Ticks pass) {
    return std::max(0.0, seconds - static_cast<double>(pass) / kNsPerSecond);
  };
  if (job.overlap_gradients) update.reduce_s = beside(update.reduce_s, hides.b);
  if (job.gradient_share < 1) update.reduce_s += coding_s(parameters, job, clock);
  if (job.zero == ZeroStage::kOptimizer || job.zero == ZeroStage::kGradients) {
    update.gather_s = over_ranks(CollectiveOp::kAllGather, job.gathered_weight_bytes());
  }
  if (job.zero == ZeroStage::kWeights) update.gather_s = weight_parts_s(parameters, job, clock);
  if (job.overlap_parameters) update.gather_s = beside(update.gather_s, hides.f);
  // Gradient read, weight and state read and written, by whoever holds the state.
  const auto each = static_cast<double>(job.precision.gradient_bytes + 2 * job.precision.weight_bytes +
                                        2 * job.precision.optimizer_bytes);
  if (job.storage_bytes_per_s > 0) {
    const double held = updated_parameters(parameters, job);
    const auto sent = gradient_bytes + static_cast<double>(job.precision.weight_bytes);
    update.optimizer_s = held * each / job.storage_bytes_per_s + clock.to_host_s(held * sent);
    return update;
  }
  const auto held = static_cast<double>(memory.optimizer_bytes) / static_cast<double>(job.precision.optimizer_bytes);
  const auto all = static_cast<double>(parameters.all());
  update.optimizer_s = clock.updating_s(held * each + passed_over_bytes(held, all, job));
  return update;
}

UpdateSeconds stage_update(const StageHolding& holding, const JobShapes& shapes, const JobClock& clock,
                           const StageMemory& memory, const StageTimes& hides) {
  const DeviceParameters& first = holding.of_sharded;
  if (first.all() == 0) return update_seconds(holding.parameters, shapes.others, clock, memory, hides);
  const DeviceParameters others{holding.parameters.dense - first.dense, holding.parameters.expert - first.expert};
  const JobShape& rest = others.all() == 0 ? shapes.sharded : shapes.others;
  return update_seconds(first, shapes.sharded, clock, {}, hides) +
         update_seconds(others, rest, clock, memory, hides);  // all the state is in `memory`
}

}  // namespace plumb
