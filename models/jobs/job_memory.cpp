#include "models/jobs/job_memory.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "models/kernels/format_costs.hpp"
#include "models/layers/describe_layer.hpp"
#include "models/network/layer_shape.hpp"
#include "models/network/lora.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kWideGradient = 4;

std::int64_t divided_up(std::int64_t count, std::int64_t parts) { return (count + parts - 1) / parts; }

/// Returns whether it is the parameter `part` of the layer.
bool is_part(const LayerSpec& layer, const ParameterFacts& parameter, std::string_view part) {
  const std::string_view name = parameter.name;
  return name.size() == layer.name.size() + 1 + part.size() && name.starts_with(layer.name) && name.ends_with(part) &&
         name[layer.name.size()] == '.';
}

/// Returns whether tensor ranks divide the parameter: matrices and tables by rows, biases of rows with them. What is
/// added after the sum over ranks (output biases, norms) and routers are whole on each.
bool is_divided(const LayerSpec& layer, const ParameterFacts& parameter) {
  const auto named = [&](std::string_view part) { return is_part(layer, parameter, part); };
  switch (layer.kind) {
    case LayerKind::kEmbedding:
      return named("weight");
    case LayerKind::kHead:
      return named("weight");
    case LayerKind::kAttention:
      return !named("out.bias") && !named("query_norm.weight") && !named("key_norm.weight");
    case LayerKind::kMlp:
      return !named("out.bias");
    case LayerKind::kMamba:
      return !named("gate_down.weight") && (layer.state == 0 || !layer.delta || !named("gate_norm.weight"));
    case LayerKind::kLatentAttention:
      return !named("query_down.weight") && !named("query_norm.weight") && !named("key_down.weight") &&
             !named("key_norm.weight") && !named("index_query.weight") && !named("index_key.weight") &&
             !named("index_norm.weight") && !named("index_norm.bias") && !named("index_heads.weight");
    default:
      return false;
  }
}

/// Counts the parameters of a tensor rank; rows of a table that do not divide are filled up.
std::int64_t share_of(const ParameterFacts& parameter, std::int64_t ranks) {
  const std::int64_t count = parameter.count();
  const std::int64_t rows = parameter.shape.front();
  return divided_up(rows, ranks) * (count / rows);
}

/// Experts of one device: routed ones over expert and expert tensor ranks, shared ones over tensor ranks. Router and
/// the products to and from a latent width are whole on each.
void add_moe_parameters(const LayerSpec& layer, const Parallelism& job, const ParameterFacts& parameter,
                        DeviceParameters& sum) {
  const auto named = [&](std::string_view part) { return is_part(layer, parameter, part); };
  if (named("router.weight") || named("router.bias") || named("shared_gate.weight") || named("latent_in.weight") ||
      named("latent_out.weight")) {
    sum.dense += parameter.count();
    return;
  }
  const bool shared_only = named("shared_in.weight") || named("shared_out.weight");
  const bool routed_only = (layer.latent_width > 0 || layer.shared_hidden > 0) && !shared_only;
  const std::int64_t held =
      shared_only ? layer.shared_experts : layer.experts + (routed_only ? 0 : layer.shared_experts);
  const std::int64_t each = parameter.count() / held;
  const bool whole = named("out.bias");  // added after the sum over ranks
  if (!shared_only) sum.expert += each * layer.experts / job.expert / (whole ? 1 : job.expert_parts());
  if (!routed_only) sum.dense += each * layer.shared_experts / (whole ? 1 : job.tensor);
}

std::int64_t sharded(std::int64_t bytes, bool divided, std::int64_t parts) {
  return divided ? divided_up(bytes, parts) : bytes;
}

}  // namespace

DeviceParameters device_parameters(const LayerSpec& layer, const JobShape& shape) {
  const Parallelism& job = shape.parallelism;
  DeviceParameters sum;
  for (const std::vector<LayerSpec>* branch : {&layer.body, &layer.shortcut}) {
    for (const LayerSpec& inner : *branch) {
      const DeviceParameters part = device_parameters(inner, shape);
      sum = {sum.dense + part.dense, sum.expert + part.expert};
    }
  }
  if (layer.kind == LayerKind::kResidual) return sum;
  for (const ParameterFacts& parameter : describe(layer, {1, 1}, job.precision).parameters) {
    if (layer.kind == LayerKind::kMoe) {
      add_moe_parameters(layer, job, parameter, sum);
    } else {
      sum.dense += is_divided(layer, parameter) ? share_of(parameter, job.tensor) : parameter.count();
    }
  }
  return sum;
}

DeviceParameters stage_parameters(std::span<const LayerSpec> layers, std::span<const DeviceParameters> each) {
  const bool has_table =
      std::ranges::any_of(layers, [](const LayerSpec& layer) { return layer.kind == LayerKind::kEmbedding; });
  DeviceParameters sum;
  for (std::size_t k = 0; k < layers.size(); ++k) {
    if (layers[k].kind == LayerKind::kHead && layers[k].tied && has_table) continue;
    sum = {sum.dense + each[k].dense, sum.expert + each[k].expert};
  }
  return sum;
}

DeviceParameters stage_parameters(std::span<const LayerSpec> layers, const JobShape& shape) {
  std::vector<DeviceParameters> each;
  for (const LayerSpec& layer : layers) each.push_back(device_parameters(layer, shape));
  return stage_parameters(layers, each);
}

namespace {

/// Returns the bytes of the gradients that wait to be summed in a wider type: DeepSpeed's optimizer of bf16 drops those
/// of all weights only when the next backward begins.
std::int64_t unsummed_bytes(const Parallelism& job) {
  const std::int64_t made = job.precision.activation_bytes;
  const bool wider = job.precision.gradient_bytes > made;
  return job.weight_gradients == WeightGradients::kSummed && wider ? made : 0;
}

/// Returns the parameters that have gradients and optimizer state: all, or those of the adapters.
DeviceParameters trained_parameters(std::span<const LayerSpec> layers, const JobShape& shape) {
  const Parallelism& job = shape.parallelism;
  if (job.adapter_rank == 0) return stage_parameters(layers, shape);
  DeviceParameters sum;
  for (const LayerSpec& layer : layers) {
    sum.dense += trained_parameters(layer.body, shape).dense + trained_parameters(layer.shortcut, shape).dense;
    for (const AdaptedProduct& product : adapted_products(layer, {job.adapter_rank, 1, job.adapter_targets})) {
      // Tensor ranks divide what leaves the first product of a block, and what comes to the second.
      const bool second = product.prefix == "out.";
      sum.dense += job.adapter_rank * (second ? product.inputs / job.tensor + product.outputs
                                              : product.inputs + product.outputs / job.tensor);
    }
  }
  return sum;
}

/// Matrices that products read in the job's format.
DeviceParameters cast_parameters(std::span<const LayerSpec> layers, const JobShape& shape) {
  DeviceParameters sum;
  for (const LayerSpec& layer : layers) {
    const DeviceParameters inside = cast_parameters(layer.body, shape);
    const bool reads = keeps_mask(layer.kind);  // attention, MLP, experts, Mamba
    const DeviceParameters own = reads ? device_parameters(layer, shape) : DeviceParameters{};
    sum = {sum.dense + inside.dense + own.dense, sum.expert + inside.expert + own.expert};
  }
  return sum;
}

/// Returns the bytes that a cast weight has beyond those of one in 16 bits: its copies, instead of it where it is kept
/// in no other way, or beside it.
double cast_weight_bytes(const Parallelism& job) {
  if (job.format == MatrixFormat::kBf16) return 0;
  const FormatCosts& costs = format_costs(job.format);
  const double copies = (costs.both_kept ? 2 : 1) * costs.number_bytes;
  return costs.gathers ? copies - static_cast<double>(job.precision.weight_bytes) : copies;
}

/// Parameters of some layers, and those of them that are sharded as by ZeRO 3 beside the others.
struct SplitParameters {
  DeviceParameters all{};
  DeviceParameters sharded{};

  DeviceParameters others() const { return {all.dense - sharded.dense, all.expert - sharded.expert}; }
};

/// Over how many ranks ZeRO shards what it shards from the stage `from` on.
std::int64_t ranks_of(const Parallelism& job, ZeroStage from) {
  if (from == ZeroStage::kWeights) return job.shard_ranks(&ShardGroups::weights);
  return job.shard_ranks(from == ZeroStage::kGradients ? &ShardGroups::gradients : &ShardGroups::optimizer);
}

/// Counts bytes, `each` per parameter, over the ranks that ZeRO shards over from the stage `from` on, where they are
/// `divided`.
std::int64_t divided_bytes(const DeviceParameters& some, double each, const Parallelism& job, ZeroStage from,
                           bool divided) {
  const auto of = [each](std::int64_t count) { return std::llround(static_cast<double>(count) * each); };
  return sharded(of(some.dense), divided, ranks_of(job, from)) +
         sharded(of(some.expert), divided, job.expert_replicas());
}

/// ZeRO 3 has the layer that computes and the next one as a whole.
std::int64_t gathered_bytes(std::span<const LayerSpec> sharded_layers, const JobShape& shape) {
  if (shape.parallelism.shard_ranks(&ShardGroups::weights) < 2) return 0;
  std::int64_t largest = 0;
  for (const LayerSpec& layer : sharded_layers) largest = std::max(largest, device_parameters(layer, shape).all());
  return 2 * largest * shape.parallelism.precision.weight_bytes;
}

}  // namespace

StageMemory job_stage_memory(std::span<const LayerSpec> layers, const JobShape& shape, const HeldBeside& beside) {
  return job_stage_memory(layers, shape, beside, {.parameters = stage_parameters(layers, shape)},
                          stage_activations(layers, shape, layers_again(layers, shape)));
}

StageMemory job_stage_memory(std::span<const LayerSpec> layers, const JobShape& shape, const HeldBeside& beside,
                             const StageHolding& holding, const StageActivations& activations) {
  const Parallelism& job = shape.parallelism;
  const auto first = layers.first(holding.sharded);
  const auto held_of = [&](const SplitParameters& some, double each, ZeroStage from) {
    return divided_bytes(some.others(), each, job, from, job.zero >= from) +
           divided_bytes(some.sharded, each, job, from, true);
  };
  const SplitParameters parameters{holding.parameters, holding.of_sharded};
  const SplitParameters trained =
      job.adapter_rank == 0 ? parameters : SplitParameters{trained_parameters(layers, shape), {}};
  const auto bytes = [&](std::int64_t each, ZeroStage from) {
    return held_of(trained, static_cast<double>(each), from);
  };
  StageMemory memory;
  memory.weight_bytes = held_of(parameters, static_cast<double>(job.precision.weight_bytes), ZeroStage::kWeights);
  if (const double each = cast_weight_bytes(job); each != 0) {
    memory.weight_bytes +=
        held_of({cast_parameters(layers, shape), cast_parameters(first, shape)}, each, ZeroStage::kWeights);
  }
  if (job.adapter_rank > 0) {
    memory.frozen_bytes = memory.weight_bytes;
    memory.weight_bytes += bytes(job.precision.weight_bytes, ZeroStage::kWeights);
  }
  memory.gradient_bytes = bytes(job.precision.gradient_bytes + unsummed_bytes(job), ZeroStage::kGradients);
  const bool in_storage = job.storage_bytes_per_s > 0;
  if (!in_storage) memory.optimizer_bytes = bytes(job.precision.optimizer_bytes, ZeroStage::kOptimizer);
  memory.stash = activations.stash;
  const std::int64_t gathered =
      holding.gathers ? gathered_bytes(job.zero == ZeroStage::kWeights ? layers : first, shape) : 0;
  const PassPeaks& peaks = activations.peaks;
  const std::int64_t held = beside.library_bytes + activations.placeholder_bytes + gathered;
  const auto workspace = [&](std::int64_t peak, std::int64_t messages) {
    return held + std::max<std::int64_t>(0, peak - messages);
  };
  memory.workspace_f_bytes = workspace(peaks.forward, beside.forward_messages);
  memory.workspace_b_bytes = workspace(peaks.backward, beside.backward_messages);
  memory.workspace_i_bytes = workspace(peaks.input_grad, beside.backward_messages);
  memory.workspace_w_bytes = workspace(peaks.weight_grad, 0);
  // The optimizer reads gradients of 32 bits.
  const std::int64_t widened =
      job.precision.gradient_bytes < kWideGradient && !in_storage ? bytes(kWideGradient, ZeroStage::kOptimizer) : 0;
  memory.workspace_u_bytes = held - gathered + widened;
  if (!layers.empty() && makes_logits(layers.back().kind)) {
    const std::int64_t rows = (layers.back().vocabulary + job.tensor - 1) / job.tensor;
    memory.logit_bytes = shape.number_bytes() * shape.tokens() * rows;
  }
  return memory;
}

}  // namespace plumb
