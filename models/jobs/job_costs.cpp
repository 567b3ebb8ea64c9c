#include "models/jobs/job_costs.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "models/costs/reverses.hpp"
#include "models/ground/error.hpp"
#include "models/ground/units.hpp"
#include "models/jobs/job_clock.hpp"
#include "models/jobs/job_memory.hpp"
#include "models/jobs/job_messages.hpp"
#include "models/jobs/job_passes.hpp"
#include "models/jobs/job_places.hpp"
#include "models/jobs/job_shape.hpp"
#include "models/jobs/recomputed_layers.hpp"
#include "models/jobs/update_seconds.hpp"
#include "models/kernels/kernel_rates_io.hpp"
#include "models/stages/lay_out_stage.hpp"
#include "models/stages/network_costs.hpp"
#include "models/stages/stage_reversal.hpp"

namespace plumb {
namespace {

/// A job, and the same where layers are sharded as by ZeRO 3.
struct JobShapes {
  const JobShape& others;
  const JobShape& sharded;
};

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

/// Returns the bytes that `GradientPasses` moves: written once by zeroing, read by each look at them, read and written
/// when scaled. `own`: gradients that the device updates, of `all` that it holds. Megatron-LM d98e8a6:
/// `param_and_grad_buffer.py`
/// (`reset`, `check_grads`, `start_grad_sync`), `clip_grads.py`.
double passed_over_bytes(double own, double all, const Parallelism& job) {
  if (job.gradient_passes == GradientPasses::kNone) return 0;
  double passes = 1;
  if (job.gradient_passes == GradientPasses::kScaled) passes += job.replicas() > 1 ? 1 + 2 : 1;
  constexpr double kClipping = 1 + 2;
  return static_cast<double>(job.precision.gradient_bytes) * (passes * all + kClipping * own);
}

/// Returns the parameters that the optimizer of one device updates.
double updated_parameters(const DeviceParameters& parameters, const Parallelism& job) {
  if (job.zero == ZeroStage::kNone) return static_cast<double>(parameters.all());
  return static_cast<double>(parameters.dense) / static_cast<double>(job.shard_ranks(&ShardGroups::optimizer)) +
         static_cast<double>(parameters.expert) / static_cast<double>(job.expert_replicas());
}

/// Returns the parameters of a dense shard of what `part` groups.
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

/// Returns the update of a stage with the parameters `of_stage`, whose memory is known. `hides`: the passes that its
/// collectives may run beside.
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

/// Computes the update where some layers are sharded otherwise than the others: of these, only what MiCS sums between
/// groups is left for the update.
UpdateSeconds stage_update(const StageHolding& holding, const JobShapes& shapes, const JobClock& clock,
                           const StageMemory& memory, const StageTimes& hides) {
  const DeviceParameters& first = holding.of_sharded;
  if (first.all() == 0) return update_seconds(holding.parameters, shapes.others, clock, memory, hides);
  const DeviceParameters others{holding.parameters.dense - first.dense, holding.parameters.expert - first.expert};
  const JobShape& rest = others.all() == 0 ? shapes.sharded : shapes.others;
  return update_seconds(first, shapes.sharded, clock, {}, hides) +
         update_seconds(others, rest, clock, memory, hides);  // all the state is in `memory`
}

/// Weights that are gathered ahead hide behind the layer before theirs; nothing hides those of the first layer with
/// any. `layers`: the first ones of a stage; those behind them, with none to gather, hide the first of the backward.
void wait_for_weights(std::span<const LayerSpec> layers, bool are_all, const JobShape& shape, const JobClock& clock,
                      StageSeconds& seconds) {
  const Parallelism& job = shape.parallelism;
  if (job.zero != ZeroStage::kWeights || !job.overlap_weights) return;
  const auto gather_s = [&](const LayerSpec& layer) {
    const DeviceParameters parameters = device_parameters(layer, shape);
    const auto of = [&](std::int64_t count, const DeviceGroup& holders) {
      return clock.collective_s(CollectiveOp::kAllGather, holders,
                                static_cast<double>(count) * job.gathered_weight_bytes());
    };
    return of(parameters.dense, clock.group(GroupAxis::kWeightShards)) + of(parameters.expert, clock.expert_copies());
  };
  const auto first = [&](auto begin, auto end, PassSeconds& pass) {
    const auto layer = std::find_if(begin, end, [&](const LayerSpec& one) { return gather_s(one) > 0; });
    if (layer == end) return;
    pass.busy_s += gather_s(*layer);
    pass.hidden_s -= gather_s(*layer);
  };
  first(layers.begin(), layers.end(), seconds.f);
  if (!are_all) return;
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

void set_work(double model_flops, const JobShape& shape, const DeviceSpec& device, WorkUnits& work) {
  const Parallelism& job = shape.parallelism;
  work.samples_per_microbatch = shape.samples * job.data;
  work.tokens_per_microbatch = shape.sequence > 1 ? work.samples_per_microbatch * shape.sequence : 0;
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
        shape_sharded(fully_sharded(shape)),
        clock(cluster, parallelism, rates),
        passes(known_passes ? std::move(known_passes)
                            : std::make_shared<const JobPasses>(of, cluster, rates, parallelism)) {
    require_format(rates, parallelism.format);
    shape.any_layout = shape_sharded.any_layout = rates.any_layout;
    set_work(passes->model_flops(), shape, cluster.devices.front(), work);
    set_least();
    for (std::size_t k = 0; k < of.layers.size(); ++k) couples = couples || is_coupled(of.layers, k);
  }

  /// A reversible stage keeps nothing for its backward, which first computes everything again from the output; that
  /// comes back with its gradient.
  void reverse(const Partition& partition, std::size_t s, StageTimes& times, StageMemory& memory) const {
    const MicrobatchShape own{shape.samples, shape.sequence / shape.parallelism.context};
    const StageMemory layout =
        stage_memory(network.layers, partition.range(s), own, shape.parallelism.precision, partition.before(s));
    memory.input_bytes = layout.input_bytes;
    memory.output_bytes = layout.output_bytes;
    memory.input_grad_bytes = layout.input_grad_bytes;
    memory.output_grad_bytes = layout.output_grad_bytes;
    if (!reverses(layout)) return;
    memory.stash = layout.stash;
    memory.input_last_use = layout.input_last_use;
    times.i += times.f;
    times.b = times.i + times.w;
  }

  /// Returns the shape of the least that a job needs which leaves to stages what is sharded.
  const JobShape& least_shape() const { return shape.parallelism.zero_by_layer ? shape_sharded : shape; }

  bool is_tied(std::size_t layer) const {
    return network.layers[layer].kind == LayerKind::kHead && network.layers[layer].tied;
  }

  /// Weights, gradients and state; of a tied weight nothing is certain.
  std::int64_t least_held(std::size_t layer) const {
    constexpr std::int64_t kRoundings = 8;  // bytes
    if (is_tied(layer)) return 0;
    const StageMemory memory =
        job_stage_memory(passes->own_layers({layer, layer + 1}), least_shape(), {}, {passes->parameters()[layer]}, {});
    const std::int64_t held = memory.weight_bytes + memory.gradient_bytes + memory.optimizer_bytes;
    return std::max<std::int64_t>(0, held - kRoundings);
  }

  /// Sets the least of each layer, with an update that is no shorter than its share of the network's: messages and
  /// state grow with the parameters, and what is beside passes is not counted. Tied weights may be in a stage twice.
  void set_least() {
    std::vector<LayerLeast> each = passes->least();
    const std::vector<DeviceParameters>& parameters = passes->parameters();
    for (std::size_t k = 0; k < each.size(); ++k) {
      const auto same = static_cast<std::size_t>(passes->alike()[k]);
      each[k].held_bytes = same < k ? each[same].held_bytes : least_held(k);
      if (shape.parallelism.offload_by_stage) each[k].kept_bytes = 0;
    }
    const DeviceParameters all = stage_parameters(network.layers, parameters);
    const Parallelism& job = least_shape().parallelism;
    const bool shares = job.adapter_rank == 0 && all.dense > 0 && all.expert == 0;
    if (shares) {
      StageMemory held;
      const std::int64_t holders = job.zero >= ZeroStage::kOptimizer ? job.shard_ranks(&ShardGroups::optimizer) : 1;
      held.optimizer_bytes = all.dense * job.precision.optimizer_bytes / holders;
      UpdateSeconds update = update_seconds(all, least_shape(), clock, held, {});
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

  OwnLayers own_of(const LayerRange& range, std::size_t s, const StageChoices& choices) const {
    return {.again = again(range, s, choices.recomputed),
            .sharded = choices.sharded.empty() ? OwnLayers::kByPolicy : choices.sharded[s]};
  }

  /// Returns how many layers of stage `s` run again.
  std::int32_t again(const LayerRange& range, std::size_t s, const std::vector<std::int32_t>& counts) const {
    if (!counts.empty()) return counts[s];
    const Parallelism& job = shape.parallelism;
    if (job.recompute != ActivationRecompute::kFull || job.recompute_layers == 0) return OwnLayers::kByPolicy;
    return static_cast<std::int32_t>(
        std::min<std::int64_t>(job.recompute_layers, layers_to_recompute(passes->own_layers(range))));
  }

  StageSeconds with_waits(std::span<const LayerSpec> layers, const StageUse& of) const {
    StageSeconds seconds = of.seconds;
    wait_for_weights(layers, true, shape, clock, seconds);
    const std::size_t sharded = of.holding.gathers ? of.holding.sharded : 0;
    if (sharded > 0) wait_for_weights(layers.first(sharded), sharded == layers.size(), shape_sharded, clock, seconds);
    return seconds;
  }

  /// `of`: what its passes take.
  StagePrice price(const LayerRange& range, const StageUse& of) const {
    const auto layers = passes->own_layers(range);
    StageSeconds seconds = with_waits(layers, of);
    StageMemory messages = of.messages;
    compress_messages(shape.parallelism, clock, messages, seconds);
    const HeldBeside beside{rates.workspace_bytes, messages.input_bytes + messages.output_bytes,
                            messages.input_grad_bytes + messages.output_grad_bytes};
    StagePrice stage{.times = stage_times(seconds),
                     .memory = job_stage_memory(layers, shape, beside, of.holding, of.activations),
                     .update = {}};
    stage.memory.input_bytes = messages.input_bytes;
    stage.memory.output_bytes = messages.output_bytes;
    stage.memory.input_grad_bytes = messages.input_grad_bytes;
    stage.memory.output_grad_bytes = messages.output_grad_bytes;
    stage.update = stage_update(of.holding, {shape, shape_sharded}, clock, stage.memory, stage.times);
    stage.times.u = to_nanoseconds(stage.update.all());
    return stage;
  }

  std::shared_ptr<const StagePrice> known(const LayerRange& range, const OwnLayers& own) {
    Key key = passes->key_of(range, own);
    {
      const std::lock_guard lock(mutex);
      const auto found = stages.find(key);
      if (found != stages.end()) return found->second;
    }
    auto stage = std::make_shared<const StagePrice>(price(range, *passes->stage(range, own, key)));
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
  JobShape shape_sharded;  ///< shape of layers that are sharded as by ZeRO 3 beside the others
  JobClock clock;
  std::shared_ptr<const JobPasses> passes;
  WorkUnits work;
  bool couples = false;  ///< layers are coupled, so that stages may be reversible
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

void JobPrices::check_counts(const Partition& partition, const StageChoices& choices) const {
  const Parallelism& job = state_->shape.parallelism;
  if (!choices.recomputed.empty() && job.recompute == ActivationRecompute::kFull) {
    throw Error("recomputed layers: all run again already, expected no counts by stage");
  }
  if (!choices.sharded.empty() && !job.zero_by_layer) {
    throw Error("sharded layers: expected a job that leaves them to its stages");
  }
  const auto check = [&](const char* what, const std::vector<std::int32_t>& counts,
                         const std::vector<std::int32_t>& most) {
    if (counts.empty()) return;
    if (counts.size() != most.size()) {
      throw Error(std::string(what) + " layers: " + std::to_string(counts.size()) +
                  " counts, expected one for each of the " + std::to_string(most.size()) + " stages");
    }
    for (std::size_t s = 0; s < most.size(); ++s) {
      if (counts[s] >= 0 && counts[s] <= most[s]) continue;
      throw Error(std::string(what) + " layers: " + std::to_string(counts[s]) + " of stage " + std::to_string(s) +
                  ", expected at most its " + std::to_string(most[s]));
    }
  };
  check("recomputed", choices.recomputed, recomputable(partition));
  std::vector<std::int32_t> layers;
  for (std::size_t s = 0; s < partition.num_stages(); ++s) {
    layers.push_back(static_cast<std::int32_t>(partition.range(s).end - partition.range(s).begin));
  }
  check("sharded", choices.sharded, layers);
}

std::vector<std::int32_t> JobPrices::recomputable(const Partition& partition) const {
  std::vector<std::int32_t> counts;
  for (std::size_t s = 0; s < partition.num_stages(); ++s) {
    counts.push_back(layers_to_recompute(state_->passes->own_layers(partition.range(s))));
  }
  return counts;
}

JobCosts JobPrices::costs(const Partition& partition, std::int32_t places, const StageChoices& choices) const {
  check_devices(state_->cluster, state_->shape.parallelism, places);
  JobCosts job = stages(partition, places, choices);
  job.pipeline = state_->pipeline(places);
  estimate_host_copies(job.costs, job.pipeline);
  return job;
}

JobCosts JobPrices::stages(const Partition& partition, std::int32_t places, const StageChoices& choices) const {
  const Parallelism& parallelism = state_->shape.parallelism;
  check_counts(partition, choices);
  JobCosts job;
  job.rates = state_->rates;
  job.costs.work = state_->work;
  job.stage_update = stage_update_ns(state_->rates, partition.num_stages(), places);
  for (std::size_t s = 0; s < partition.num_stages(); ++s) {
    const LayerRange range = partition.range(s);
    const auto stage = state_->known(range, state_->own_of(range, s, choices));
    job.costs.times.push_back(stage->times);
    job.costs.times.back().u += job.stage_update;
    job.costs.memory.push_back(stage->memory);
    if (state_->couples) state_->reverse(partition, s, job.costs.times.back(), job.costs.memory.back());
    if (parallelism.offload_by_stage && choices.offloaded.empty()) job.costs.memory.back().stash.clear();
    job.updates.push_back(stage->update);
  }
  job.costs.layer_forward = state_->passes->layer_forward();
  job.least = state_->least;
  job.costs.from_network = true;
  if (parallelism.adapter_rank > 0) return job;  // a shared weight is frozen like the others
  job.costs.tied = tied_weights(state_->network, partition, parallelism.precision);
  for (TiedWeight& tied : job.costs.tied) {
    tied.bytes =
        tied.bytes / parallelism.precision.weight_bytes * parallelism.precision.gradient_bytes / parallelism.tensor;
  }
  return job;
}

JobCosts job_costs(const Network& network, const Partition& partition, const JobMachine& machine,
                   const Parallelism& parallelism, const StageChoices& choices) {
  return JobPrices(network, machine, parallelism).costs(partition, machine.places, choices);
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
