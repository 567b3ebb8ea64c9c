#include "models/jobs/job_passes.hpp"

#include <algorithm>
#include <utility>

#include "models/jobs/alike_layers.hpp"
#include "models/jobs/job_kernels.hpp"
#include "models/jobs/job_messages.hpp"
#include "models/jobs/recomputed_layers.hpp"
#include "models/stages/network_costs.hpp"

namespace plumb {
namespace {

/// ZeRO's traffic of every microbatch: gathered weights (3), scattered gradients (2 and 3).
void add_zero_traffic(const LayerSpec& layer, const JobShape& shape, LayerKernels& kernels) {
  const Parallelism& job = shape.parallelism;
  if (job.zero < ZeroStage::kGradients || job.replicas() < 2) return;
  const DeviceParameters parameters = device_parameters(layer, shape);
  const auto add = [&](std::int64_t count, GroupAxis holders, GroupAxis summing) {
    if (count == 0) return;
    const auto bytes = [count](std::int64_t each) { return static_cast<double>(count) * static_cast<double>(each); };
    if (job.zero == ZeroStage::kWeights) {
      for (PassKernels* pass : {&kernels.forward, &kernels.input_grad}) {
        pass->collective(CollectiveOp::kAllGather, holders, static_cast<double>(count) * job.gathered_weight_bytes(),
                         job.overlap_weights);
      }
    }
    kernels.input_grad.collective(CollectiveOp::kReduceScatter, summing, bytes(job.precision.gradient_bytes), true);
  };
  add(parameters.dense, GroupAxis::kWeightShards, GroupAxis::kGradientShards);
  if (job.expert_replicas() > 1) add(parameters.expert, GroupAxis::kExpertCopies, GroupAxis::kExpertCopies);
}

/// No layer names what it reads, and none shares the weights of another.
bool is_plain_chain(std::span<const LayerSpec> layers) {
  return std::ranges::none_of(
      layers, [](const LayerSpec& layer) { return !layer.input.empty() || !layer.from.empty() || layer.tied; });
}

/// Hidden collectives are left out, since those of one layer may hide behind the kernels of another.
LayerLeast least_passes(const StageSeconds& layer) {
  const auto shown = [](const PassSeconds& pass) {
    return surely_nanoseconds(std::min(pass.busy_s, pass.seconds()), 0);
  };
  const auto computed = [](const PassSeconds& pass) { return surely_nanoseconds(pass.computing_s, 1); };
  return {.alone = {shown(layer.f), shown(layer.b), shown(layer.i), shown(layer.w)},
          .paired = {computed(layer.f), computed(layer.b), computed(layer.i), computed(layer.w)}};
}

}  // namespace

bool runs_all_again(const Parallelism& job) {
  return job.recompute == ActivationRecompute::kFull && job.recompute_layers == 0;
}

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

Parallelism with_same_passes(Parallelism job) {
  job.offload_by_stage = false;
  if (job.zero >= ZeroStage::kGradients || job.zero_by_layer) return job;
  job.zero = ZeroStage::kNone;
  job.data = 1;
  return job;
}

JobPasses::JobPasses(const Network& network, const Cluster& cluster, const KernelRates& rates, const Parallelism& job,
                     std::vector<std::int32_t> alike)
    : network_(network),
      shape_(network, job),
      alike_(alike.empty() ? first_alike(network.layers) : std::move(alike)),
      plain_chain_(is_plain_chain(network.layers)) {
  shape_.any_layout = rates.any_layout;
  const JobShape if_sharded = fully_sharded(shape_);
  const JobClock clock(cluster, job, rates);
  model_flops_ = ::plumb::model_flops(network, {shape_.samples, shape_.sequence}, alike_, job.adapter_rank == 0);
  for (std::size_t k = 0; k < network.layers.size(); ++k) {
    const auto same = static_cast<std::size_t>(alike_[k]);
    const LayerSpec& layer = network.layers[k];
    layers_.push_back(same < k ? layers_[same] : both_seconds(layer, shape_, clock));
    if (job.zero_by_layer) sharded_.push_back(same < k ? sharded_[same] : both_seconds(layer, if_sharded, clock));
    parameters_.push_back(same < k ? parameters_[same] : device_parameters(layer, shape_));
    layer_forward_.push_back(to_nanoseconds(layers_.back().once.f.seconds()));
    least_.push_back(same < k ? least_[same] : least_of(k));
  }
}

JobPasses::LayerSeconds JobPasses::both_seconds(const LayerSpec& layer, const JobShape& shape, const JobClock& clock) {
  return {layer_seconds(layer, shape, clock, runs_all_again(shape.parallelism)),
          layer_seconds(layer, shape, clock, true)};
}

LayerLeast JobPasses::least_of(std::size_t layer) const {
  LayerLeast one = least_passes(layers_[layer].once);
  one.kept_bytes = stage_kept(own_layers({layer, layer + 1}), shape_).from_forward();
  // Attention and what follows it run again together, from one input.
  if (shape_.parallelism.recompute >= ActivationRecompute::kFull) one.kept_bytes /= 2;
  return one;
}

JobPasses::Key JobPasses::key_of(const LayerRange& range, const OwnLayers& own) const {
  constexpr std::int32_t kNobody = -1;
  Key key{own.again, own.sharded, range.begin == 0 ? kNobody : alike_[range.begin - 1],
          range.end == alike_.size() ? kNobody : alike_[range.end]};
  key.insert(key.end(), alike_.begin() + static_cast<std::ptrdiff_t>(range.begin),
             alike_.begin() + static_cast<std::ptrdiff_t>(range.end));
  return key;
}

StageUse JobPasses::passes_of(const LayerRange& range, const OwnLayers& own) const {
  const auto layers = own_layers(range);
  const auto each = std::span(parameters_).subspan(range.begin, layers.size());
  const bool by_policy = own.again == OwnLayers::kByPolicy;
  const std::size_t again = by_policy ? 0 : leading_layers(layers, own.again);
  const bool sharded_as_fits = shape_.parallelism.zero_by_layer && own.sharded == OwnLayers::kByPolicy;
  const auto sharded = sharded_as_fits ? layers.size() : static_cast<std::size_t>(std::max(0, own.sharded));
  StageUse stage;
  for (std::size_t k = 0; k < layers.size(); ++k) {
    const bool is_sharded = k < sharded && !sharded_as_fits;
    const LayerSeconds& seconds = (is_sharded ? sharded_ : layers_)[range.begin + k];
    stage.seconds += k < again ? seconds.again : seconds.once;
  }
  set_messages(network_, range, shape_, plain_chain_, stage.messages);
  stage.activations = stage_activations(layers, shape_, by_policy ? layers_again(layers, shape_) : again);
  stage.holding = {.parameters = stage_parameters(layers, each),
                   .sharded = sharded,
                   .of_sharded = stage_parameters(layers.first(sharded), each.first(sharded)),
                   .gathers = !sharded_as_fits};
  return stage;
}

std::shared_ptr<const StageUse> JobPasses::stage(const LayerRange& range, const OwnLayers& own, const Key& key) const {
  {
    const std::lock_guard lock(mutex_);
    const auto found = stages_.find(key);
    if (found != stages_.end()) return found->second;
  }
  auto stage = std::make_shared<const StageUse>(passes_of(range, own));
  const std::lock_guard lock(mutex_);
  return stages_.try_emplace(key, std::move(stage)).first->second;
}

}  // namespace plumb
