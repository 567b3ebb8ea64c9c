#include "models/jobs/job_costs.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "models/costs/time_limits.hpp"
#include "models/ground/error.hpp"
#include "models/ground/units.hpp"
#include "models/jobs/activation_peaks.hpp"
#include "models/jobs/alike_layers.hpp"
#include "models/jobs/job_clock.hpp"
#include "models/jobs/job_kernels.hpp"
#include "models/jobs/job_memory.hpp"
#include "models/jobs/job_messages.hpp"
#include "models/jobs/job_places.hpp"
#include "models/jobs/job_update.hpp"
#include "models/jobs/recomputed_layers.hpp"
#include "models/kernels/kernel_rates_io.hpp"
#include "models/stages/network_costs.hpp"

namespace plumb {
namespace {

/// ZeRO's traffic of every microbatch: gathered weights (3), scattered gradients (2 and 3).
void add_zero_traffic(const LayerSpec& layer, const JobShape& shape, LayerKernels& kernels) {
  const Parallelism& job = shape.parallelism;
  if (job.zero < ZeroStage::kGradients || job.replicas() < 2) return;
  const DeviceParameters parameters = device_parameters(layer, shape);
  const auto add = [&](std::int64_t count, GroupAxis holders) {
    if (count == 0) return;
    const auto bytes = [count](std::int64_t each) { return static_cast<double>(count) * static_cast<double>(each); };
    if (job.zero == ZeroStage::kWeights) {
      for (PassKernels* pass : {&kernels.forward, &kernels.input_grad}) {
        pass->collective(CollectiveOp::kAllGather, holders, static_cast<double>(count) * job.gathered_weight_bytes(),
                         job.overlap_weights);
      }
    }
    kernels.input_grad.collective(CollectiveOp::kReduceScatter, holders, bytes(job.precision.gradient_bytes), true);
  };
  add(parameters.dense, GroupAxis::kShards);
  if (job.expert_replicas() > 1) add(parameters.expert, GroupAxis::kExpertCopies);
}

bool runs_all_again(const Parallelism& job) {
  return job.recompute == ActivationRecompute::kFull && job.recompute_layers == 0;
}

/// `full`: its whole forward runs again.
StageSeconds layer_seconds(const LayerSpec& layer, const JobShape& shape, const JobClock& clock, bool full) {
  LayerKernels kernels = layer_kernels(layer, shape);
  PassKernels again = std::move(kernels.again);
  if (full) {
    again = layer.kind == LayerKind::kResidual ? kernels.forward : PassKernels{};
  }
  add_zero_traffic(layer, shape, kernels);
  StageSeconds seconds;
  again.append(kernels.input_grad);
  seconds.f = clock.of(kernels.forward, true);
  seconds.i = clock.of(again);
  seconds.w = clock.of(kernels.weight_grad);
  again.append(kernels.weight_grad);
  seconds.b = clock.of(again);
  return seconds;
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
    return of(parameters.dense, clock.group(GroupAxis::kShards)) + of(parameters.expert, clock.expert_copies());
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

/// Rounded down, and further than doubles are off.
Ticks surely(double seconds, Ticks roundings) {
  return std::max<Ticks>(0, static_cast<Ticks>(std::floor(seconds * kNsPerSecond * (1 - 1e-9))) - roundings);
}

/// Hidden collectives are left out, since those of one layer may hide behind the kernels of another.
LayerLeast least_passes(const StageSeconds& layer) {
  const auto shown = [](const PassSeconds& pass) { return surely(std::min(pass.busy_s, pass.seconds()), 0); };
  const auto computed = [](const PassSeconds& pass) { return surely(pass.computing_s, 1); };
  return {.alone = {shown(layer.f), shown(layer.b), shown(layer.i), shown(layer.w)},
          .paired = {computed(layer.f), computed(layer.b), computed(layer.i), computed(layer.w)}};
}

void set_work(const Network& network, std::span<const std::int32_t> alike, const JobShape& shape,
              const DeviceSpec& device, WorkUnits& work) {
  const Parallelism& job = shape.parallelism;
  const auto copies = static_cast<double>(job.data);
  work.samples_per_microbatch = shape.samples * job.data;
  work.tokens_per_microbatch = shape.samples * shape.sequence * job.data;
  work.model_flops_per_microbatch =
      copies * model_flops(network, {shape.samples, shape.sequence}, alike, job.adapter_rank == 0);
  work.peak_flops_per_s = device.flops_per_s * static_cast<double>(job.devices_per_stage());
}

/// The shape of a job whose layers are sharded as by ZeRO 3.
JobShape fully_sharded(JobShape shape) {
  shape.parallelism.zero = ZeroStage::kWeights;
  return shape;
}

/// No layer names what it reads, and none shares the weights of another.
bool is_plain_chain(std::span<const LayerSpec> layers) {
  return std::ranges::none_of(
      layers, [](const LayerSpec& layer) { return !layer.input.empty() || !layer.from.empty() || layer.tied; });
}

KernelRates rates_of(const JobMachine& machine) {
  return machine.rates ? *machine.rates : kernel_rates_of(machine.cluster.devices.front());
}

}  // namespace

struct JobPrices::State {
  /// What one stage costs, wherever it stands.
  struct StagePrice {
    StageTimes times;
    StageMemory memory;
    UpdateSeconds update;
  };
  static constexpr std::int32_t kByPolicy = -1;
  /// What a stage has otherwise than the job says; `kByPolicy`: nothing, or the least where it is left to stages.
  struct Own {
    std::int32_t again = kByPolicy;    ///< transformer layers that run again
    std::int32_t sharded = kByPolicy;  ///< layers
    bool offloaded = false;            ///< is said
  };
  using Key = std::vector<std::int32_t>;  ///< what is the stage's own; kinds of the layers, and of their neighbours

  State(const JobMachine& machine, const Network& of, const Parallelism& parallelism,
        std::vector<std::int32_t> known_alike)
      : network(of),
        cluster(machine.cluster),
        rates(rates_of(machine)),
        shape(of, parallelism),
        shape_sharded(fully_sharded(shape)),
        clock(cluster, parallelism, rates),
        alike(known_alike.empty() ? first_alike(of.layers) : std::move(known_alike)) {
    shape.any_layout = shape_sharded.any_layout = rates.any_layout;
    set_work(network, alike, shape, cluster.devices.front(), work);
    plain_chain = is_plain_chain(of.layers);
    for (std::size_t k = 0; k < network.layers.size(); ++k) {
      const auto same = static_cast<std::size_t>(alike[k]);
      layers.push_back(same < k ? layers[same]
                                : layer_seconds(network.layers[k], shape, clock, runs_all_again(parallelism)));
      recomputed.push_back(same < k ? recomputed[same] : layer_seconds(network.layers[k], shape, clock, true));
      for (const bool full : {false, true}) {
        if (!parallelism.zero_by_layer) continue;
        std::vector<StageSeconds>& of_sharded = full ? sharded_recomputed : sharded;
        const bool again = full || runs_all_again(parallelism);
        of_sharded.push_back(same < k ? of_sharded[same]
                                      : layer_seconds(network.layers[k], shape_sharded, clock, again));
      }
      parameters.push_back(same < k ? parameters[same] : device_parameters(network.layers[k], shape));
      layer_forward.push_back(to_nanoseconds(layers.back().f.seconds()));
    }
    set_least();
  }

  bool is_tied(std::size_t layer) const {
    return network.layers[layer].kind == LayerKind::kHead && network.layers[layer].tied;
  }

  LayerLeast least_of(std::size_t layer) const {
    constexpr std::int64_t kRoundings = 8;  // bytes
    LayerLeast one = least_passes(layers[layer]);
    const auto alone = std::span(network.layers).subspan(layer, 1);
    const StageMemory memory = job_stage_memory(alone, shape.parallelism.zero_by_layer ? shape_sharded : shape, {});
    if (!is_tied(layer)) {
      const std::int64_t held = memory.weight_bytes + memory.gradient_bytes + memory.optimizer_bytes;
      one.held_bytes = std::max<std::int64_t>(0, held - kRoundings);
    }
    for (const StashTensor& tensor : memory.stash) {
      if (tensor.made_by == StashTensor::MadeBy::kForward) one.kept_bytes += tensor.bytes;
    }
    // Attention and what follows it run again together, from one input.
    if (shape.parallelism.recompute >= ActivationRecompute::kFull) one.kept_bytes /= 2;
    if (shape.parallelism.offload_by_stage) one.kept_bytes = 0;
    return one;
  }

  /// Of an update that is no shorter than its share of the network's: messages and state grow with the parameters, and
  /// what is beside passes is not counted. Tied weights may be in a stage twice.
  void set_least() {
    std::vector<LayerLeast> each;
    for (std::size_t k = 0; k < layers.size(); ++k) {
      const auto same = static_cast<std::size_t>(alike[k]);
      each.push_back(same < k ? each[same] : least_of(k));
    }
    const DeviceParameters all = stage_parameters(network.layers, parameters);
    const JobShape& least_shape = shape.parallelism.zero_by_layer ? shape_sharded : shape;
    const Parallelism& job = least_shape.parallelism;
    const bool shares = job.adapter_rank == 0 && all.dense > 0 && all.expert == 0;
    if (shares) {
      StageMemory held;
      const std::int64_t holders = job.zero >= ZeroStage::kOptimizer ? job.shard_ranks() : 1;
      held.optimizer_bytes = all.dense * job.precision.optimizer_bytes / holders;
      UpdateSeconds update = update_seconds(all, least_shape, clock, held, {});
      if (job.overlap_gradients) update.reduce_s = 0;
      if (job.overlap_parameters) update.gather_s = 0;
      for (std::size_t k = 0; k < each.size(); ++k) {
        if (is_tied(k)) continue;
        const auto own = static_cast<double>(parameters[k].dense);
        each[k].u = surely(update.all() * own / static_cast<double>(all.dense) * (1 - 1e-6), 1);
      }
    }
    least = std::make_shared<const std::vector<LayerLeast>>(std::move(each));
  }

  Key key_of(const LayerRange& range, const Own& own) const {
    constexpr std::int32_t kNobody = -1;
    Key key{own.again, own.sharded, own.offloaded ? 1 : 0, range.begin == 0 ? kNobody : alike[range.begin - 1],
            range.end == alike.size() ? kNobody : alike[range.end]};
    key.insert(key.end(), alike.begin() + static_cast<std::ptrdiff_t>(range.begin),
               alike.begin() + static_cast<std::ptrdiff_t>(range.end));
    return key;
  }

  std::span<const LayerSpec> own_layers(const LayerRange& range) const {
    return std::span(network.layers).subspan(range.begin, range.end - range.begin);
  }

  Own own_of(const LayerRange& range, std::size_t s, const StageChoices& choices) const {
    return {.again = again(range, s, choices.recomputed),
            .sharded = choices.sharded.empty() ? kByPolicy : choices.sharded[s],
            .offloaded = !choices.offloaded.empty()};
  }

  /// How many layers of stage `s` run again.
  std::int32_t again(const LayerRange& range, std::size_t s, const std::vector<std::int32_t>& counts) const {
    if (!counts.empty()) return counts[s];
    const Parallelism& job = shape.parallelism;
    if (job.recompute != ActivationRecompute::kFull || job.recompute_layers == 0) return kByPolicy;
    return static_cast<std::int32_t>(
        std::min<std::int64_t>(job.recompute_layers, layers_to_recompute(own_layers(range))));
  }

  /// Of the passes of a stage whose first layers run again, so many, or are sharded.
  StageSeconds seconds_of(const LayerRange& range, std::size_t again, std::size_t sharded_ones) const {
    StageSeconds seconds;
    for (std::size_t k = range.begin; k < range.end; ++k) {
      const bool runs_again = k - range.begin < again;
      const bool is_sharded = k - range.begin < sharded_ones;
      seconds += is_sharded ? (runs_again ? sharded_recomputed : sharded)[k] : (runs_again ? recomputed : layers)[k];
    }
    const auto own = own_layers(range);
    wait_for_weights(own, true, shape, clock, seconds);
    if (sharded_ones > 0) {
      wait_for_weights(own.first(sharded_ones), sharded_ones == own.size(), shape_sharded, clock, seconds);
    }
    return seconds;
  }

  StagePrice price(const LayerRange& range, const Own& own) const {
    const Parallelism& job = shape.parallelism;
    const auto of_stage = own_layers(range);
    const auto each = std::span(parameters).subspan(range.begin, of_stage.size());
    const std::size_t leading = own.again == kByPolicy ? 0 : leading_layers(of_stage, own.again);
    const bool sharded_as_fits = job.zero_by_layer && own.sharded == kByPolicy;
    const std::size_t first =
        sharded_as_fits ? of_stage.size() : static_cast<std::size_t>(std::max<std::int32_t>(0, own.sharded));
    const StageHolding holding{.parameters = stage_parameters(of_stage, each),
                               .again = own.again == kByPolicy ? layers_again(of_stage, shape) : leading,
                               .sharded = first,
                               .of_sharded = stage_parameters(of_stage.first(first), each.first(first)),
                               .gathers = !sharded_as_fits};
    StageSeconds seconds = seconds_of(range, leading, sharded_as_fits ? 0 : first);
    StageMemory messages;
    set_messages(network, range, shape, plain_chain, messages);
    compress_messages(job, clock, messages, seconds);
    const HeldBeside beside{rates.workspace_bytes, messages.input_bytes + messages.output_bytes,
                            messages.input_grad_bytes + messages.output_grad_bytes};
    StagePrice stage{
        .times = stage_times(seconds), .memory = job_stage_memory(of_stage, shape, beside, holding), .update = {}};
    if (job.offload_by_stage && !own.offloaded) stage.memory.stash.clear();
    stage.memory.input_bytes = messages.input_bytes;
    stage.memory.output_bytes = messages.output_bytes;
    stage.memory.input_grad_bytes = messages.input_grad_bytes;
    stage.memory.output_grad_bytes = messages.output_grad_bytes;
    stage.update = stage_update(holding, {shape, shape_sharded}, clock, stage.memory, stage.times);
    stage.times.u = to_nanoseconds(stage.update.all()) + rates.update_ns;
    return stage;
  }

  std::shared_ptr<const StagePrice> known(const LayerRange& range, const Own& own) {
    Key key = key_of(range, own);
    {
      const std::lock_guard lock(mutex);
      const auto found = stages.find(key);
      if (found != stages.end()) return found->second;
    }
    auto stage = std::make_shared<const StagePrice>(price(range, own));
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
  JobShape shape_sharded;  ///< of layers that are sharded as by ZeRO 3 beside the others
  JobClock clock;
  std::vector<std::int32_t> alike;
  bool plain_chain = false;
  WorkUnits work;
  std::vector<StageSeconds> layers;      ///< by layer, alone
  std::vector<StageSeconds> recomputed;  ///< the same where its whole forward runs again
  std::vector<StageSeconds> sharded;     ///< by layer that ZeRO 3 shards; empty: no stage has any of its own
  std::vector<StageSeconds> sharded_recomputed;
  std::vector<DeviceParameters> parameters;  ///< by layer
  std::vector<Ticks> layer_forward;
  std::shared_ptr<const std::vector<LayerLeast>> least;
  std::mutex mutex;
  std::map<Key, std::shared_ptr<const StagePrice>> stages;
  std::map<std::int32_t, Cluster> pipelines;  ///< by places
};

JobPrices::JobPrices(const Network& network, const JobMachine& machine, const Parallelism& parallelism,
                     std::vector<std::int32_t> alike) {
  check_parallelism(network, parallelism);
  check_devices(machine.cluster, parallelism, machine.places);
  state_ = std::make_unique<State>(machine, network, parallelism, std::move(alike));
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
    counts.push_back(layers_to_recompute(state_->own_layers(partition.range(s))));
  }
  return counts;
}

JobCosts JobPrices::costs(const Partition& partition, std::int32_t places, const StageChoices& choices) const {
  const Parallelism& parallelism = state_->shape.parallelism;
  check_devices(state_->cluster, parallelism, places);
  check_counts(partition, choices);
  JobCosts job;
  job.rates = state_->rates;
  job.pipeline = state_->pipeline(places);
  job.costs.work = state_->work;
  for (std::size_t s = 0; s < partition.num_stages(); ++s) {
    const LayerRange range = partition.range(s);
    const auto stage = state_->known(range, state_->own_of(range, s, choices));
    job.costs.times.push_back(stage->times);
    job.costs.memory.push_back(stage->memory);
    job.updates.push_back(stage->update);
  }
  job.costs.layer_forward = state_->layer_forward;
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
