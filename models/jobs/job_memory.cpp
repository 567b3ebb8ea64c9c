#include "models/jobs/job_memory.hpp"

#include <algorithm>

#include "models/jobs/job_layers.hpp"
#include "models/layers/describe_layer.hpp"
#include "models/network/layer_shape.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kTokenIdBytes = 8;
constexpr std::int64_t kLogitBytes = 4;

std::int64_t divided_up(std::int64_t count, std::int64_t parts) { return (count + parts - 1) / parts; }

/// Whether tensor ranks divide the parameter: matrices and tables by rows, biases of rows with them. What is added
/// after the sum over ranks (output biases, norms) and routers are whole on each.
bool is_divided(const LayerSpec& layer, const ParameterFacts& parameter) {
  const auto named = [&](std::string_view part) { return parameter.name == layer.name + "." + std::string(part); };
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
      return true;
    case LayerKind::kLatentAttention:
      return !named("query_down.weight") && !named("query_norm.weight") && !named("key_down.weight") &&
             !named("key_norm.weight");
    default:
      return false;
  }
}

/// Of a tensor rank; rows of a table that do not divide are filled up.
std::int64_t share_of(const ParameterFacts& parameter, std::int64_t ranks) {
  const std::int64_t count = parameter.count();
  const std::int64_t rows = parameter.shape.front();
  return divided_up(rows, ranks) * (count / rows);
}

/// Experts of one device: routed ones over expert and expert tensor ranks, shared ones over tensor ranks. Router and
/// the products to and from a latent width are whole on each.
void add_moe_parameters(const LayerSpec& layer, const Parallelism& job, const ParameterFacts& parameter,
                        DeviceParameters& sum) {
  const auto named = [&](std::string_view part) { return parameter.name == layer.name + "." + std::string(part); };
  if (named("router.weight") || named("latent_in.weight") || named("latent_out.weight")) {
    sum.dense += parameter.count();
    return;
  }
  const bool shared_only = named("shared_in.weight") || named("shared_out.weight");
  const bool routed_only = layer.latent_width > 0 && !shared_only;
  const std::int64_t held = shared_only ? layer.shared_experts : layer.experts + (routed_only ? 0 : layer.shared_experts);
  const std::int64_t each = parameter.count() / held;
  const bool whole = named("out.bias");  // added after the sum over ranks
  if (!shared_only) sum.expert += each * layer.experts / job.expert / (whole ? 1 : job.expert_parts());
  if (!routed_only) sum.dense += each * layer.shared_experts / (whole ? 1 : job.tensor);
}

/// Numbers kept, in bytes of activations.
KeptBytes kept_by_attention(const LayerSpec& layer, const JobShape& shape) {
  const Parallelism& job = shape.parallelism;
  const std::int64_t number = shape.number_bytes();
  const std::int64_t tokens = shape.tokens();
  const std::int64_t qkv = qkv_width(layer) / job.tensor;
  KeptBytes kept;
  kept.for_weight_grad =
      number * (shape.norm_tokens() * layer.width + tokens * (queries_width(layer) / job.tensor));  // input, attended
  kept.for_input_grad = number * tokens * qkv;
  kept.made_by_input_grad = number * (tokens * qkv + shape.norm_tokens() * layer.width);
  // Queries and keys before their norms.
  if (layer.head_norm) kept.for_input_grad += number * tokens * ((qkv + queries_width(layer) / job.tensor) / 2);
  if (job.flash_attention) kept.for_input_grad += 4 * tokens * (layer.heads / job.tensor);
  if (!job.flash_attention && job.recompute == ActivationRecompute::kNone) {
    const auto scores = static_cast<std::int64_t>(shape.scores(layer));
    // Softmax output; with dropout its mask and output, too.
    kept.for_input_grad += shape.masks(layer) ? (2 * number + 1) * scores : number * scores;
  }
  if (shape.masks(layer)) kept.for_input_grad += shape.norm_tokens() * layer.width;
  return kept;
}

KeptBytes kept_by_latent_attention(const LayerSpec& layer, const JobShape& shape) {
  const std::int64_t tensor = shape.parallelism.tensor;
  const std::int64_t number = shape.number_bytes();
  const std::int64_t tokens = shape.tokens();
  const std::int64_t queries = layer.heads * (layer.head_width + layer.rotary_width) / tensor;
  const std::int64_t values = layer.heads * layer.value_width / tensor;
  const std::int64_t latents = layer.query_rank + layer.key_rank + layer.rotary_width;
  const std::int64_t qkv = 2 * queries + values;
  KeptBytes kept;
  kept.for_weight_grad = number * (shape.norm_tokens() * layer.width + tokens * (latents + values));
  kept.for_input_grad = number * tokens * (latents + qkv) + 4 * tokens * (layer.heads / tensor);
  kept.made_by_input_grad = number * (tokens * (qkv + latents) + shape.norm_tokens() * layer.width);
  if (shape.masks(layer)) kept.for_input_grad += shape.norm_tokens() * layer.width;
  return kept;
}

KeptBytes& operator+=(KeptBytes& sum, const KeptBytes& other) {
  sum.for_input_grad += other.for_input_grad;
  sum.for_weight_grad += other.for_weight_grad;
  sum.made_by_input_grad += other.made_by_input_grad;
  return sum;
}

/// Two products with `hidden` between them, for `tokens` tokens.
KeptBytes kept_between(const LayerSpec& layer, const JobShape& shape, std::int64_t tokens, std::int64_t hidden) {
  const std::int64_t number = shape.number_bytes();
  const std::int64_t inner = layer.gated ? 2 * hidden : hidden;
  return {number * tokens * inner, number * tokens * hidden, number * tokens * inner};
}

KeptBytes kept_by_mlp(const LayerSpec& layer, const JobShape& shape) {
  const std::int64_t values = shape.norm_tokens() * layer.width;
  KeptBytes kept = kept_between(layer, shape, shape.tokens(), layer.hidden / shape.parallelism.tensor);
  kept.for_weight_grad += shape.number_bytes() * values;
  kept.made_by_input_grad += shape.number_bytes() * values;
  if (shape.masks(layer)) kept.for_input_grad += values;
  return kept;
}

/// Every copy of a token: what its expert reads and keeps; the weighted sum keeps its outputs.
KeptBytes kept_by_moe(const LayerSpec& layer, const JobShape& shape) {
  const std::int64_t number = shape.number_bytes();
  const std::int64_t routed = shape.expert_tokens(layer);
  KeptBytes kept = kept_between(layer, shape, routed, layer.hidden / shape.parallelism.expert_parts());
  kept += kept_between(layer, shape, layer.shared_experts * shape.tokens(), layer.hidden / shape.parallelism.tensor);
  const std::int64_t dispatched = number * routed * expert_width(layer);
  kept.for_weight_grad += dispatched + number * shape.norm_tokens() * layer.width;
  kept.for_input_grad += dispatched + 4 * shape.norm_tokens() * layer.experts;
  kept.made_by_input_grad += dispatched;
  if (shape.masks(layer)) kept.for_input_grad += shape.norm_tokens() * layer.width;
  return kept;
}

/// Logits in 32 bits: their gradient replaces them.
KeptBytes kept_by_head(const LayerSpec& layer, const JobShape& shape) {
  KeptBytes kept;
  const std::int64_t logits = shape.tokens() * divided_up(layer.vocabulary, shape.parallelism.tensor);
  kept.for_weight_grad = shape.number_bytes() * shape.norm_tokens() * layer.width + kLogitBytes * logits;
  return kept;
}

KeptBytes kept_by_plain(const LayerSpec& layer, const JobShape& shape) {
  const LayerFacts facts = describe(layer, {shape.samples, shape.sequence}, shape.parallelism.precision);
  KeptBytes kept;
  for (const StashTensor& tensor : facts.stash) {
    if (tensor.made_by == StashTensor::MadeBy::kInputGrad)
      kept.made_by_input_grad += tensor.bytes;
    else
      (tensor.last_use == LastUse::kWeightGrad ? kept.for_weight_grad : kept.for_input_grad) += tensor.bytes;
  }
  if (facts.input_last_use == LastUse::kWeightGrad) kept.for_weight_grad += facts.input_bytes;
  if (facts.input_last_use == LastUse::kInputGrad) kept.for_input_grad += facts.input_bytes;
  return kept;
}

bool has_attention(const LayerSpec& layer) {
  return std::ranges::any_of(layer.body, [](const LayerSpec& inner) {
    return inner.kind == LayerKind::kAttention || inner.kind == LayerKind::kLatentAttention;
  });
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

DeviceParameters stage_parameters(std::span<const LayerSpec> layers, const JobShape& shape) {
  const bool has_table =
      std::ranges::any_of(layers, [](const LayerSpec& layer) { return layer.kind == LayerKind::kEmbedding; });
  DeviceParameters sum;
  for (const LayerSpec& layer : layers) {
    if (layer.kind == LayerKind::kHead && layer.tied && has_table) continue;
    const DeviceParameters part = device_parameters(layer, shape);
    sum = {sum.dense + part.dense, sum.expert + part.expert};
  }
  return sum;
}

KeptBytes kept_bytes(const LayerSpec& layer, const JobShape& shape) {
  const std::int64_t number = shape.number_bytes();
  switch (layer.kind) {
    case LayerKind::kEmbedding: {
      KeptBytes kept{.for_weight_grad = kTokenIdBytes * shape.tokens()};
      const bool masks = shape.parallelism.dropout.value_or(layer.positions > 0);
      if (masks) kept.for_input_grad = shape.norm_tokens() * layer.width;
      return kept;
    }
    case LayerKind::kLayerNorm:
    case LayerKind::kRmsNorm:
      return {.for_input_grad = number * shape.norm_tokens() * layer.width};
    case LayerKind::kAttention:
      return kept_by_attention(layer, shape);
    case LayerKind::kLatentAttention:
      return kept_by_latent_attention(layer, shape);
    case LayerKind::kMlp:
      return kept_by_mlp(layer, shape);
    case LayerKind::kMoe:
      return kept_by_moe(layer, shape);
    case LayerKind::kHead:
      return kept_by_head(layer, shape);
    case LayerKind::kResidual: {
      KeptBytes sum;
      for (const LayerSpec& inner : layer.body) sum += kept_bytes(inner, shape);
      for (const LayerSpec& inner : layer.shortcut) sum += kept_bytes(inner, shape);
      return sum;
    }
    default:
      return kept_by_plain(layer, shape);
  }
}

StageKept stage_kept(std::span<const LayerSpec> layers, const JobShape& shape) {
  const bool full = shape.parallelism.recompute == ActivationRecompute::kFull;
  StageKept stage;
  std::int64_t block = 0;     // what the transformer layer so far keeps while it runs again
  bool inside_block = false;  // after the attention of a transformer layer of this stage
  for (const LayerSpec& layer : layers) {
    const KeptBytes kept = kept_bytes(layer, shape);
    const bool recomputed = full && layer.kind == LayerKind::kResidual;
    if (!recomputed) {
      stage.kept += kept;
      continue;
    }
    const bool begins = has_attention(layer) || !inside_block;
    if (begins) {
      block = 0;
      stage.kept.for_input_grad += shape.number_bytes() * shape.norm_tokens() * output_width(layer);
    }
    inside_block = has_attention(layer);
    block += kept.from_forward();
    stage.workspace_bytes = std::max(stage.workspace_bytes, block);
  }
  return stage;
}

StageMemory job_stage_memory(std::span<const LayerSpec> layers, const JobShape& shape) {
  const Parallelism& job = shape.parallelism;
  const DeviceParameters parameters = stage_parameters(layers, shape);
  std::int64_t largest = 0;
  for (const LayerSpec& layer : layers) largest = std::max(largest, device_parameters(layer, shape).all());
  const auto bytes = [&](std::int64_t each, ZeroStage from) {
    const bool divided = job.zero >= from;
    return sharded(parameters.dense * each, divided, job.replicas()) +
           sharded(parameters.expert * each, divided, job.expert_replicas());
  };
  const StageKept stage = stage_kept(layers, shape);
  StageMemory memory;
  memory.weight_bytes = bytes(job.precision.weight_bytes, ZeroStage::kWeights);
  memory.gradient_bytes = bytes(job.precision.gradient_bytes, ZeroStage::kGradients);
  memory.optimizer_bytes = bytes(job.precision.optimizer_bytes, ZeroStage::kOptimizer);
  using MadeBy = StashTensor::MadeBy;
  const auto keep = [&](const char* name, std::int64_t size, MadeBy made_by, LastUse last_use) {
    if (size > 0) memory.stash.push_back({name, size, made_by, last_use});
  };
  keep("kept_for_input_grad", stage.kept.for_input_grad, MadeBy::kForward, LastUse::kInputGrad);
  keep("kept_for_weight_grad", stage.kept.for_weight_grad, MadeBy::kForward, LastUse::kWeightGrad);
  keep("output_grads", stage.kept.made_by_input_grad, MadeBy::kInputGrad, LastUse::kWeightGrad);
  // ZeRO-3 has the layer that computes and the next one as a whole.
  const std::int64_t gathered =
      job.zero == ZeroStage::kWeights && job.replicas() > 1 ? 2 * largest * job.precision.weight_bytes : 0;
  memory.workspace_f_bytes = gathered;
  memory.workspace_b_bytes = memory.workspace_i_bytes = gathered + stage.workspace_bytes;
  memory.workspace_w_bytes = gathered;
  return memory;
}

}  // namespace plumb
