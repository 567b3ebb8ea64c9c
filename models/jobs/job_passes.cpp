#include "models/jobs/job_passes.hpp"

#include <algorithm>
#include <utility>

#include "models/jobs/alike_layers.hpp"
#include "models/jobs/job_kernels.hpp"
#include "models/jobs/recomputed_layers.hpp"
#include "models/stages/lay_out_stage.hpp"
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
  if (job.zero >= ZeroStage::kGradients) return job;
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
  const JobClock clock(cluster, job, rates);
  model_flops_ = ::plumb::model_flops(network, {shape_.samples, shape_.sequence}, alike_, job.adapter_rank == 0);
  for (std::size_t k = 0; k < network.layers.size(); ++k) {
    const auto same = static_cast<std::size_t>(alike_[k]);
    const LayerSpec& layer = network.layers[k];
    layers_.push_back(same < k ? layers_[same] : layer_seconds(layer, shape_, clock, runs_all_again(job)));
    recomputed_.push_back(same < k ? recomputed_[same] : layer_seconds(layer, shape_, clock, true));
    parameters_.push_back(same < k ? parameters_[same] : device_parameters(layer, shape_));
    layer_forward_.push_back(to_nanoseconds(layers_.back().f.seconds()));
    least_.push_back(same < k ? least_[same] : least_of(k));
  }
}

LayerLeast JobPasses::least_of(std::size_t layer) const {
  LayerLeast one = least_passes(layers_[layer]);
  one.kept_bytes = stage_kept(own_layers({layer, layer + 1}), shape_).from_forward();
  // Attention and what follows it run again together, from one input.
  if (shape_.parallelism.recompute >= ActivationRecompute::kFull) one.kept_bytes /= 2;
  return one;
}

JobPasses::Key JobPasses::key_of(const LayerRange& range, std::int32_t again) const {
  constexpr std::int32_t kNobody = -1;
  Key key{again, range.begin == 0 ? kNobody : alike_[range.begin - 1],
          range.end == alike_.size() ? kNobody : alike_[range.end]};
  key.insert(key.end(), alike_.begin() + static_cast<std::ptrdiff_t>(range.begin),
             alike_.begin() + static_cast<std::ptrdiff_t>(range.end));
  return key;
}

/// Messages between stages are those of the network, divided over context ranks and, where each sends a share, over
/// tensor ranks.
/// In a plain chain, where a layer reads the one before it and nothing else, only the layers at both ends matter.
void JobPasses::set_messages(const LayerRange& range, StageMemory& memory) const {
  const Parallelism& job = shape_.parallelism;
  const MicrobatchShape own{shape_.samples, shape_.sequence / job.context};
  const std::size_t all = network_.layers.size();
  const auto near = [&](std::size_t layer) {  // as a stage of its own between its neighbours
    const std::size_t begin = layer == 0 ? 0 : layer - 1;
    const std::size_t end = std::min(all, layer + 2);
    return stage_memory(std::span(network_.layers).subspan(begin, end - begin), {layer - begin, layer - begin + 1}, own,
                        job.precision);
  };
  StageMemory whole;
  if (plain_chain_ && all > 1) {
    whole = near(range.end - 1);
    const StageMemory first = near(range.begin);
    whole.input_bytes = first.input_bytes;
    whole.input_grad_bytes = first.input_grad_bytes;
  } else {
    whole = stage_memory(network_.layers, range, own, job.precision);
  }
  const std::int64_t parts = job.scatter_gather || job.sequence_parallel ? job.tensor : 1;
  memory.input_bytes = (whole.input_bytes + parts - 1) / parts;
  memory.output_bytes = (whole.output_bytes + parts - 1) / parts;
  memory.input_grad_bytes = (whole.input_grad_bytes + parts - 1) / parts;
  memory.output_grad_bytes = (whole.output_grad_bytes + parts - 1) / parts;
}

StageUse JobPasses::passes_of(const LayerRange& range, std::int32_t again) const {
  const auto own = own_layers(range);
  const std::size_t leading = again == kByPolicy ? 0 : leading_layers(own, again);
  StageUse stage;
  for (std::size_t k = range.begin; k < range.end; ++k) {
    stage.seconds += k - range.begin < leading ? recomputed_[k] : layers_[k];
  }
  set_messages(range, stage.messages);
  stage.parameters = stage_parameters(own, std::span(parameters_).subspan(range.begin, own.size()));
  stage.activations = stage_activations(own, shape_, again == kByPolicy ? layers_again(own, shape_) : leading);
  return stage;
}

std::shared_ptr<const StageUse> JobPasses::stage(const LayerRange& range, std::int32_t again, const Key& key) const {
  {
    const std::lock_guard lock(mutex_);
    const auto found = stages_.find(key);
    if (found != stages_.end()) return found->second;
  }
  auto stage = std::make_shared<const StageUse>(passes_of(range, again));
  const std::lock_guard lock(mutex_);
  return stages_.try_emplace(key, std::move(stage)).first->second;
}

}  // namespace plumb
