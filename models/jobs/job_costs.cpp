#include "models/jobs/job_costs.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "models/ground/error.hpp"
#include "models/ground/units.hpp"
#include "models/jobs/job_clock.hpp"
#include "models/jobs/job_memory.hpp"
#include "models/jobs/job_passes.hpp"
#include "models/jobs/job_places.hpp"
#include "models/jobs/recomputed_layers.hpp"
#include "models/kernels/kernel_rates_io.hpp"
#include "models/stages/network_costs.hpp"

namespace plumb {
namespace {

/// Weights that are gathered ahead hide behind the layer before theirs; nothing hides those of the first layer with
/// any.
void wait_for_weights(std::span<const LayerSpec> layers, const JobShape& shape, const JobClock& clock,
                      StageSeconds& seconds) {
  const Parallelism& job = shape.parallelism;
  if (job.zero != ZeroStage::kWeights || !job.overlap_weights) return;
  const auto gather_s = [&](const LayerSpec& layer) {
    const DeviceParameters parameters = device_parameters(layer, shape);
    const auto of = [&](std::int64_t count, const DeviceGroup& holders) {
      return clock.collective_s(CollectiveOp::kAllGather, holders,
                                static_cast<double>(count) * job.gathered_weight_bytes());
    };
    return of(parameters.dense, clock.group(GroupAxis::kShards)) + of(parameters.expert, clock.expert_copies());
  };
  const auto first = [&](auto begin, auto end, PassSeconds& pass) {
    const auto layer = std::find_if(begin, end, [&](const LayerSpec& one) { return gather_s(one) > 0; });
    if (layer == end) return;
    pass.busy_s += gather_s(*layer);
    pass.hidden_s -= gather_s(*layer);
  };
  first(layers.begin(), layers.end(), seconds.f);
  first(layers.rbegin(), layers.rend(), seconds.i);
  first(layers.rbegin(), layers.rend(), seconds.b);
}

StageTimes stage_times(const StageSeconds& seconds) {
  StageTimes times;
  times.f = to_nanoseconds(seconds.f.seconds());
  times.i = to_nanoseconds(seconds.i.seconds());
  times.w = to_nanoseconds(seconds.w.seconds());
  times.b = to_nanoseconds(seconds.b.seconds());
  times.r = times.f;
  times.f_comm = seconds.f.communication();
  times.b_comm = seconds.b.communication();
  times.i_comm = seconds.i.communication();
  times.w_comm = seconds.w.communication();
  return times;
}

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
  return static_cast<double>(parameters.dense) / static_cast<double>(job.shard_ranks()) +
         static_cast<double>(parameters.expert) / static_cast<double>(job.expert_replicas());
}

UpdateSeconds update_seconds(const DeviceParameters& of_stage, const JobShape& shape, const JobClock& clock,
                             const StageMemory& memory, const StageTimes& hides) {
  const Parallelism& job = shape.parallelism;
  // Adapters are too small for their messages to count.
  const DeviceParameters parameters = job.adapter_rank > 0 ? DeviceParameters{} : of_stage;
  const DeviceGroup& data = clock.group(GroupAxis::kShards);
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
  if (job.zero != ZeroStage::kNone) {  // every group has sums of its own
    const double share =
        static_cast<double>(parameters.dense) * gradient_bytes / static_cast<double>(job.shard_ranks());
    update.reduce_s += clock.collective_s(CollectiveOp::kAllReduce, clock.group(GroupAxis::kShardCopies), share);
  }
  const auto beside = [](double seconds, Ticks pass) {
    return std::max(0.0, seconds - static_cast<double>(pass) / kNsPerSecond);
  };
  if (job.overlap_gradients) update.reduce_s = beside(update.reduce_s, hides.b);
  if (job.gradient_share < 1) update.reduce_s += coding_s(parameters, job, clock);
  if (job.zero == ZeroStage::kOptimizer || job.zero == ZeroStage::kGradients) {
    update.gather_s = over_ranks(CollectiveOp::kAllGather, job.gathered_weight_bytes());
    if (job.overlap_parameters) update.gather_s = beside(update.gather_s, hides.f);
  }
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

void set_work(double model_flops, const JobShape& shape, const DeviceSpec& device, WorkUnits& work) {
  const Parallelism& job = shape.parallelism;
  work.samples_per_microbatch = shape.samples * job.data;
  work.tokens_per_microbatch = shape.samples * shape.sequence * job.data;
  work.model_flops_per_microbatch = static_cast<double>(job.data) * model_flops;
  work.peak_flops_per_s = device.flops_per_s * static_cast<double>(job.devices_per_stage());
}

KernelRates rates_of(const JobMachine& machine) {
  return machine.rates ? *machine.rates : kernel_rates_of(machine.cluster.devices.front());
}

}  // namespace

Ticks stage_update_ns(const KernelRates& rates, std::size_t stages, std::int32_t places) {
  const auto all = static_cast<std::int64_t>(stages);
  return all <= places ? rates.update_ns : (rates.update_ns * places + all - 1) / all;
}

struct JobPrices::State {
  /// What one stage costs, wherever it stands; its U without what all stages of a device share.
  struct StagePrice {
    StageTimes times;
    StageMemory memory;
    UpdateSeconds update;
  };
  using Key = JobPasses::Key;

  State(const JobMachine& machine, const Network& of, const Parallelism& parallelism,
        std::shared_ptr<const JobPasses> known_passes)
      : network(of),
        cluster(machine.cluster),
        rates(rates_of(machine)),
        shape(of, parallelism),
        clock(cluster, parallelism, rates),
        passes(known_passes ? std::move(known_passes)
                            : std::make_shared<const JobPasses>(of, cluster, rates, parallelism)) {
    require_format(rates, parallelism.format);
    shape.any_layout = rates.any_layout;
    set_work(passes->model_flops(), shape, cluster.devices.front(), work);
    set_least();
  }

  bool is_tied(std::size_t layer) const {
    return network.layers[layer].kind == LayerKind::kHead && network.layers[layer].tied;
  }

  /// Weights, gradients and state; of a tied weight nothing is certain.
  std::int64_t least_held(std::size_t layer) const {
    constexpr std::int64_t kRoundings = 8;  // bytes
    if (is_tied(layer)) return 0;
    const StageMemory memory =
        job_stage_memory(passes->own_layers({layer, layer + 1}), shape, {}, passes->parameters()[layer], {});
    const std::int64_t held = memory.weight_bytes + memory.gradient_bytes + memory.optimizer_bytes;
    return std::max<std::int64_t>(0, held - kRoundings);
  }

  /// Of an update that is no shorter than its share of the network's: messages and state grow with the parameters, and
  /// what is beside passes is not counted. Tied weights may be in a stage twice.
  void set_least() {
    std::vector<LayerLeast> each = passes->least();
    const std::vector<DeviceParameters>& parameters = passes->parameters();
    for (std::size_t k = 0; k < each.size(); ++k) {
      const auto same = static_cast<std::size_t>(passes->alike()[k]);
      each[k].held_bytes = same < k ? each[same].held_bytes : least_held(k);
    }
    const DeviceParameters all = stage_parameters(network.layers, parameters);
    const Parallelism& job = shape.parallelism;
    const bool shares = job.adapter_rank == 0 && all.dense > 0 && all.expert == 0;
    if (shares) {
      StageMemory held;
      const std::int64_t holders = job.zero >= ZeroStage::kOptimizer ? job.shard_ranks() : 1;
      held.optimizer_bytes = all.dense * job.precision.optimizer_bytes / holders;
      UpdateSeconds update = update_seconds(all, shape, clock, held, {});
      if (job.overlap_gradients) update.reduce_s = 0;
      if (job.overlap_parameters) update.gather_s = 0;
      for (std::size_t k = 0; k < each.size(); ++k) {
        if (is_tied(k)) continue;
        const auto own = static_cast<double>(parameters[k].dense);
        each[k].u = surely_nanoseconds(update.all() * own / static_cast<double>(all.dense) * (1 - 1e-6), 1);
      }
    }
    least = std::make_shared<const std::vector<LayerLeast>>(std::move(each));
  }

  /// How many layers of stage `s` run again.
  std::int32_t again(const LayerRange& range, std::size_t s, std::span<const std::int32_t> counts) const {
    if (!counts.empty()) return counts[s];
    const Parallelism& job = shape.parallelism;
    if (job.recompute != ActivationRecompute::kFull || job.recompute_layers == 0) return JobPasses::kByPolicy;
    return static_cast<std::int32_t>(
        std::min<std::int64_t>(job.recompute_layers, layers_to_recompute(passes->own_layers(range))));
  }

  /// `of`: what its passes take.
  StagePrice price(const LayerRange& range, const StageUse& of) const {
    const auto own = passes->own_layers(range);
    StageSeconds seconds = of.seconds;
    wait_for_weights(own, shape, clock, seconds);
    const StageMemory& messages = of.messages;
    const HeldBeside beside{rates.workspace_bytes, messages.input_bytes + messages.output_bytes,
                            messages.input_grad_bytes + messages.output_grad_bytes};
    StagePrice stage{.times = stage_times(seconds),
                     .memory = job_stage_memory(own, shape, beside, of.parameters, of.activations),
                     .update = {}};
    stage.memory.input_bytes = messages.input_bytes;
    stage.memory.output_bytes = messages.output_bytes;
    stage.memory.input_grad_bytes = messages.input_grad_bytes;
    stage.memory.output_grad_bytes = messages.output_grad_bytes;
    stage.update = update_seconds(of.parameters, shape, clock, stage.memory, stage.times);
    stage.times.u = to_nanoseconds(stage.update.all());
    return stage;
  }

  /// `again`: how many of its first layers (`layers_to_recompute`).
  std::shared_ptr<const StagePrice> known(const LayerRange& range, std::int32_t again) {
    Key key = passes->key_of(range, again);
    {
      const std::lock_guard lock(mutex);
      const auto found = stages.find(key);
      if (found != stages.end()) return found->second;
    }
    auto stage = std::make_shared<const StagePrice>(price(range, *passes->stage(range, again, key)));
    const std::lock_guard lock(mutex);
    return stages.try_emplace(std::move(key), std::move(stage)).first->second;
  }

  Cluster pipeline(std::int32_t places) {
    const std::lock_guard lock(mutex);
    const auto known = pipelines.find(places);
    if (known != pipelines.end()) return known->second;
    return pipelines.try_emplace(places, pipeline_of(cluster, shape.parallelism, places)).first->second;
  }

  const Network& network;
  const Cluster& cluster;
  KernelRates rates;
  JobShape shape;
  JobClock clock;
  std::shared_ptr<const JobPasses> passes;
  WorkUnits work;
  std::shared_ptr<const std::vector<LayerLeast>> least;
  std::mutex mutex;
  std::map<Key, std::shared_ptr<const StagePrice>> stages;
  std::map<std::int32_t, Cluster> pipelines;  ///< by places
};

JobPrices::JobPrices(const Network& network, const JobMachine& machine, const Parallelism& parallelism,
                     std::shared_ptr<const JobPasses> passes) {
  check_parallelism(network, parallelism);
  check_devices(machine.cluster, parallelism, machine.places);
  state_ = std::make_unique<State>(machine, network, parallelism, std::move(passes));
}

JobPrices::~JobPrices() = default;

void JobPrices::check_counts(const Partition& partition, std::span<const std::int32_t> recomputed) const {
  if (recomputed.empty()) return;
  if (state_->shape.parallelism.recompute == ActivationRecompute::kFull) {
    throw Error("recomputed layers: all run again already, expected no counts by stage");
  }
  if (recomputed.size() != partition.num_stages()) {
    throw Error("recomputed layers: " + std::to_string(recomputed.size()) + " counts, expected one for each of the " +
                std::to_string(partition.num_stages()) + " stages");
  }
  const std::vector<std::int32_t> most = recomputable(partition);
  for (std::size_t s = 0; s < most.size(); ++s) {
    if (recomputed[s] >= 0 && recomputed[s] <= most[s]) continue;
    throw Error("recomputed layers: " + std::to_string(recomputed[s]) + " of stage " + std::to_string(s) +
                ", expected at most its " + std::to_string(most[s]));
  }
}

std::vector<std::int32_t> JobPrices::recomputable(const Partition& partition) const {
  std::vector<std::int32_t> counts;
  for (std::size_t s = 0; s < partition.num_stages(); ++s) {
    counts.push_back(layers_to_recompute(state_->passes->own_layers(partition.range(s))));
  }
  return counts;
}

JobCosts JobPrices::costs(const Partition& partition, std::int32_t places,
                          std::span<const std::int32_t> recomputed) const {
  const Parallelism& parallelism = state_->shape.parallelism;
  check_devices(state_->cluster, parallelism, places);
  check_counts(partition, recomputed);
  JobCosts job;
  job.rates = state_->rates;
  job.pipeline = state_->pipeline(places);
  job.costs.work = state_->work;
  job.stage_update = stage_update_ns(state_->rates, partition.num_stages(), places);
  for (std::size_t s = 0; s < partition.num_stages(); ++s) {
    const auto stage = state_->known(partition.range(s), state_->again(partition.range(s), s, recomputed));
    job.costs.times.push_back(stage->times);
    job.costs.times.back().u += job.stage_update;
    job.costs.memory.push_back(stage->memory);
    job.updates.push_back(stage->update);
  }
  job.costs.layer_forward = state_->passes->layer_forward();
  job.least = state_->least;
  job.costs.from_network = true;
  estimate_host_copies(job.costs, job.pipeline);
  if (parallelism.adapter_rank > 0) return job;  // a shared weight is frozen like the others
  job.costs.tied = tied_weights(state_->network, partition, parallelism.precision);
  for (TiedWeight& tied : job.costs.tied) {
    tied.bytes =
        tied.bytes / parallelism.precision.weight_bytes * parallelism.precision.gradient_bytes / parallelism.tensor;
  }
  return job;
}

JobCosts job_costs(const Network& network, const Partition& partition, const JobMachine& machine,
                   const Parallelism& parallelism, std::span<const std::int32_t> recomputed) {
  return JobPrices(network, machine, parallelism).costs(partition, machine.places, recomputed);
}

std::vector<std::int64_t> job_layer_times(const Network& network, const JobMachine& machine,
                                          const Parallelism& parallelism) {
  check_parallelism(network, parallelism);
  const KernelRates rates = rates_of(machine);
  JobShape shape(network, parallelism);
  shape.any_layout = rates.any_layout;
  const JobClock clock(machine.cluster, parallelism, rates);
  std::vector<std::int64_t> times;
  for (const LayerSpec& layer : network.layers) {
    const StageTimes one = stage_times(layer_seconds(layer, shape, clock, runs_all_again(parallelism)));
    times.push_back(one.f + one.b);
  }
  return times;
}

}  // namespace plumb
