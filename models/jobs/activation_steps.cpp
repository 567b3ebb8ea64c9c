#include "models/jobs/activation_steps.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/kernels/format_costs.hpp"
#include "models/layers/describe_layer.hpp"
#include "models/network/layer_shape.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kTokenIdBytes = 8;
/// Statistics of FlashAttention and sums of its backward (Dao 2023), and the loss: 32 bits.
constexpr std::int64_t kSingleBytes = 4;

/// Sizes that the steps of a layer share, and the list that they are added to.
class StepList {
 public:
  StepList(const LayerSpec& layer, const JobShape& shape)
      : number_(shape.number_bytes()),
        values_(number_ * shape.norm_tokens() * layer.width),
        whole_(number_ * shape.tokens() * layer.width),
        tokens_(shape.tokens()),
        shape_(shape) {}

  /// Returns the values between layers: a share of the tokens with sequence parallelism, and of all tokens.
  std::int64_t values() const { return values_; }
  std::int64_t whole() const { return whole_; }
  std::int64_t number() const { return number_; }
  std::int64_t tokens() const { return tokens_; }
  /// Returns the bytes of `features` numbers for each token.
  std::int64_t of(std::int64_t features) const { return number_ * tokens_ * features; }
  /// Returns a copy of all tokens where values() is a share of them.
  std::int64_t gathered() const { return values_ < whole_ ? whole_ : 0; }

  ActivationStep& add(std::string_view name, const KeptBytes& kept) {
    steps_.push_back({.name = name, .kept = kept});
    return steps_.back();
  }

  /// A product that reads values() and whose columns are divided over tensor ranks.
  void add_entering(std::string_view name, const Product& product, bool of_library = true) {
    const std::int64_t out = number_ * product.tokens * product.outputs;
    ActivationStep& step = add(name, {.for_weight_grad = values_, .made_by_input_grad = out});
    step.forward = gathered() + out;
    step.input_grad = out + whole_ + (gathered() > 0 ? values_ : 0);
    set_weight(step, product, of_library);
    step.weight_grad += gathered();
    if (of_library) run_again(step, RecomputeModule::kNorm);
  }

  /// A product inside of a block: reads what the step before made.
  void add_inner(std::string_view name, const Product& product, std::int64_t tokens) {
    const std::int64_t in = number_ * tokens * product.inputs;
    const std::int64_t out = number_ * tokens * product.outputs;
    ActivationStep& step = add(name, {.for_weight_grad = in, .made_by_input_grad = out});
    step.forward = out;
    step.input_grad = in + out;
    set_weight(step, product, true);
  }

  /// A product whose rows are divided over tensor ranks: what it makes is summed, or summed and scattered.
  void add_leaving(std::string_view name, const Product& product) {
    const std::int64_t in = number_ * product.tokens * product.inputs;
    ActivationStep& step = add(name, {.for_weight_grad = in, .made_by_input_grad = values_});
    step.forward = whole_ + (gathered() > 0 ? values_ : 0);
    step.input_grad = values_ + gathered() + in;
    set_weight(step, product, true);
  }

  /// What `module` makes is not kept for the step, but made again before its backward.
  void run_again(ActivationStep& step, RecomputeModule module) const {
    if (!shape_.parallelism.modules.has(module)) return;
    step.weight_grad += std::exchange(step.kept.for_weight_grad, 0);
  }

  /// Returns the last step, and the one of that name.
  ActivationStep& last() { return steps_.back(); }
  ActivationStep& named(std::string_view name) { return *std::ranges::find(steps_, name, &ActivationStep::name); }

  /// Dropout of the block's output.
  void add_mask() {
    ActivationStep& step = add("dropout.mask", {.for_input_grad = values_ / number_});
    step.forward = values_;
    step.input_grad = 2 * values_;
  }

  std::vector<ActivationStep> take() { return std::move(steps_); }

 private:
  void set_weight(ActivationStep& step, const Product& product, bool of_library) {
    const WeightGradients how = shape_.parallelism.weight_gradients;
    const bool passed = how == WeightGradients::kPassed || how == WeightGradients::kSummed ||
                        (how == WeightGradients::kPlaceholders && !of_library);
    if (passed) step.weight_grad = number_ * product.copies * product.inputs * product.outputs;
    if (of_library) step.product = product;
  }

  std::int64_t number_;
  std::int64_t values_;
  std::int64_t whole_;
  std::int64_t tokens_;
  const JobShape& shape_;
  std::vector<ActivationStep> steps_;
};

/// Attention itself, between its products. `keys` are the bytes of queries, keys and values, `made` those of its
/// output.
void add_core_steps(StepList& list, const LayerSpec& layer, const JobShape& shape, std::int64_t keys,
                    std::int64_t made) {
  const Parallelism& job = shape.parallelism;
  const std::int64_t heads = list.tokens() * (layer.heads / job.tensor);
  const auto scores = static_cast<std::int64_t>(shape.scores(layer));
  // Softmax output; with dropout its mask and output, too.
  const std::int64_t matrices = shape.masks(layer) ? (2 * list.number() + 1) * scores : list.number() * scores;
  ActivationStep& step = list.add("attention.qkv", {.for_input_grad = keys});
  step.forward = made;
  step.input_grad = keys + made;
  if (job.context > 1) step.kept.for_input_grad += made;  // as the exchange between context ranks gets it
  if (job.flash_attention) {
    step.kept.for_input_grad += kSingleBytes * heads;
    step.input_grad += kSingleBytes * (made / list.number() + heads);  // gradient of the queries, sums of rows
    return;
  }
  const std::int64_t matrix = list.number() * scores;
  step.forward += matrix;
  step.input_grad += matrix;
  if (job.recompute == ActivationRecompute::kNone || job.recompute == ActivationRecompute::kFitted) {
    list.add("attention.scores", {.for_input_grad = matrices}).input_grad = 2 * matrix + made;
  } else {
    step.forward += matrices;
    step.input_grad += matrix + matrices;
  }
}

void add_attention_steps(StepList& list, const LayerSpec& layer, const JobShape& shape) {
  const std::int64_t tensor = shape.parallelism.tensor;
  const std::int64_t made = attended_width(layer) / tensor;
  const std::int64_t qkv = qkv_width(layer) / tensor;
  list.add_entering("attention.input", {list.tokens(), layer.width, attention_columns(layer) / tensor});
  if (layer.head_norm || layer.whole_norm) {  // queries and keys before their norms
    list.add("attention.head_norm", {.for_input_grad = list.of(queries_and_keys(layer) / tensor)});
  }
  add_core_steps(list, layer, shape, list.of(qkv), list.of(made));
  if (layer.gated) {  // both factors
    ActivationStep& gate = list.add("attention.gate", {.for_input_grad = 2 * list.of(made)});
    gate.forward = list.of(made);
    gate.input_grad = 2 * list.of(made);
  }
  list.add_leaving("attention.attended", {list.tokens(), made, layer.width});
}

/// What the indexer chooses keys by: its queries, its key and the weights of its heads.
void add_index_step(StepList& list, const LayerSpec& layer) {
  const std::int64_t kept = list.of((layer.index_heads + 1) * layer.index_width + layer.index_heads);
  ActivationStep& step = list.add("attention.index", {.for_input_grad = kept});
  step.forward = kSingleBytes * list.tokens() * layer.index_keys;  // what it chose
  step.input_grad = kept;
}

void add_latent_steps(StepList& list, const LayerSpec& layer, const JobShape& shape) {
  const std::int64_t tensor = shape.parallelism.tensor;
  const std::int64_t queries = layer.heads * (layer.head_width + layer.rotary_width) / tensor;
  const std::int64_t values = layer.heads * layer.value_width / tensor;
  const std::int64_t latents = layer.query_rank + layer.key_rank + layer.rotary_width;
  list.add_entering("attention.input", {list.tokens(), layer.width, latents});
  list.add("attention.latent_norm", {.for_input_grad = list.of(latents)}).input_grad = 2 * list.of(latents);
  if (layer.index_heads > 0) add_index_step(list, layer);
  list.add_inner("attention.latents", {list.tokens(), latents, 2 * queries + values}, list.tokens());
  add_core_steps(list, layer, shape, list.of(2 * queries + values), list.of(values));
  if (shape.parallelism.modules.has(RecomputeModule::kMlaUpProj)) {
    ActivationStep& core = list.named("attention.qkv");
    core.kept.for_input_grad -= list.of(2 * queries + values);
    core.input_grad += list.of(2 * queries + values);
  }
  list.add_leaving("attention.attended", {list.tokens(), values, layer.width});
}

/// What the activation of an MLP keeps of `tokens` tokens with `hidden` features.
void add_activation_step(StepList& list, std::string_view name, const LayerSpec& layer, std::int64_t numbers) {
  const std::int64_t out = list.number() * numbers;
  const std::int64_t in = layer.gated ? 2 * out : out;
  ActivationStep& step = list.add(name, {.for_input_grad = in});
  step.forward = out;
  step.input_grad = in + out;
}

void add_mlp_steps(StepList& list, const LayerSpec& layer, const JobShape& shape) {
  const std::int64_t hidden = layer.hidden / shape.parallelism.tensor;
  list.add_entering("mlp.input", {list.tokens(), layer.width, layer.gated ? 2 * hidden : hidden});
  add_activation_step(list, "mlp.hidden", layer, list.tokens() * hidden);
  list.add_leaving("mlp.activated", {list.tokens(), hidden, layer.width});
  list.run_again(list.last(), RecomputeModule::kActivation);
}

/// Experts that every token goes through, side by side.
void add_shared_steps(StepList& list, const LayerSpec& layer, const JobShape& shape) {
  const std::int64_t numbers = list.tokens() * (shared_width(layer) / shape.parallelism.tensor);
  const std::int64_t out = list.number() * numbers;
  const std::int64_t in = layer.gated ? 2 * out : out;
  add_activation_step(list, "moe.shared_hidden", layer, numbers);
  ActivationStep& activated = list.add("moe.shared_activated", {.for_weight_grad = out, .made_by_input_grad = in});
  activated.input_grad = in + out;
  list.run_again(activated, RecomputeModule::kActivation);
}

/// Every copy of a token: what its expert reads and keeps; the weighted sum keeps its outputs.
void add_moe_steps(StepList& list, const LayerSpec& layer, const JobShape& shape) {
  const Parallelism& job = shape.parallelism;
  const std::int64_t number = list.number();
  const std::int64_t hidden = layer.hidden / job.expert_parts();
  const std::int64_t inner = layer.gated ? 2 * hidden : hidden;
  const std::int64_t routed = shape.expert_tokens(layer);
  const std::int64_t width = expert_width(layer);
  const std::int64_t experts = std::max<std::int64_t>(1, layer.experts / job.expert);
  const std::int64_t dispatched = number * routed * width;
  ActivationStep& router = list.add("moe.router", {.for_weight_grad = list.values()});
  router.kept.for_input_grad = kSingleBytes * shape.norm_tokens() * layer.experts;
  router.forward = list.gathered();
  router.input_grad = 2 * list.values();
  list.run_again(router, RecomputeModule::kNorm);
  if (layer.shared_experts > 0) add_shared_steps(list, layer, shape);
  list.add_inner("moe.dispatched", {routed, width, inner, experts}, routed);
  add_activation_step(list, "moe.hidden", layer, routed * hidden);
  list.add_inner("moe.activated", {routed, hidden, width, experts}, routed);
  list.run_again(list.last(), RecomputeModule::kActivation);
  ActivationStep& combine = list.add("moe.outputs", {.for_input_grad = dispatched});
  combine.forward = dispatched + list.values();
  combine.input_grad = 2 * dispatched + list.values();
}

/// Logits of all tokens, and the loss: in 32 bits from which the gradient is made, or in place.
void add_head_steps(StepList& list, const LayerSpec& layer, const JobShape& shape) {
  const std::int64_t tensor = shape.parallelism.tensor;
  const std::int64_t rows = (layer.vocabulary + tensor - 1) / tensor;
  const std::int64_t logits = list.of(rows);
  list.add_entering("head.input", {list.tokens(), layer.width, rows}, false);
  if (shape.parallelism.fused_loss || shape.parallelism.loss_in_place) {
    list.add("head.logits", {.for_weight_grad = logits});
    return;
  }
  ActivationStep& loss = list.add("head.loss", {.for_input_grad = kSingleBytes * list.tokens() * rows});
  loss.forward = logits;
  loss.input_grad = logits;
}

void add_embedding_step(StepList& list, const LayerSpec& layer, const JobShape& shape) {
  const std::int64_t tensor = shape.parallelism.tensor;
  ActivationStep& step = list.add("embedding.tokens", {.for_weight_grad = kTokenIdBytes * list.tokens()});
  const bool masks = shape.parallelism.dropout.value_or(layer.positions > 0);
  if (masks) step.kept.for_input_grad = list.values() / list.number();
  step.forward = list.whole() + list.values();
  step.weight_grad = list.values() + list.gathered();
  // The gradient of the whole table, of which few rows are not 0.
  if (shape.parallelism.weight_gradients != WeightGradients::kAdded) {
    step.weight_grad += list.number() * ((layer.vocabulary + tensor - 1) / tensor) * layer.width;
  }
}

void add_plain_step(StepList& list, const LayerSpec& layer, const JobShape& shape) {
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
  list.add("kept", kept);
}

/// What products read is kept as they read it: one copy, by columns, with its scales.
void keep_in_format(std::vector<ActivationStep>& steps, MatrixFormat format) {
  if (format == MatrixFormat::kBf16) return;
  const double share = format_costs(format).number_bytes / format_costs(MatrixFormat::kBf16).number_bytes;
  for (ActivationStep& step : steps) {
    if (!step.product) continue;
    step.kept.for_weight_grad = std::llround(static_cast<double>(step.kept.for_weight_grad) * share);
  }
}

std::vector<ActivationStep> residual_steps(const LayerSpec& layer, const JobShape& shape) {
  std::vector<ActivationStep> steps;
  for (const std::vector<LayerSpec>* branch : {&layer.body, &layer.shortcut}) {
    for (const LayerSpec& inner : *branch) {
      const std::vector<ActivationStep> part = activation_steps(inner, shape);
      steps.insert(steps.end(), part.begin(), part.end());
    }
  }
  const std::int64_t around = shape.number_bytes() * shape.norm_tokens() * output_width(layer);
  for (ActivationStep& step : steps) step.input_grad += around;
  return steps;
}

}  // namespace

KeptBytes& KeptBytes::operator+=(const KeptBytes& other) {
  for_input_grad += other.for_input_grad;
  for_weight_grad += other.for_weight_grad;
  made_by_input_grad += other.made_by_input_grad;
  return *this;
}

std::vector<ActivationStep> activation_steps(const LayerSpec& layer, const JobShape& shape) {
  if (layer.kind == LayerKind::kResidual) return residual_steps(layer, shape);
  StepList list(layer, shape);
  switch (layer.kind) {
    case LayerKind::kEmbedding:
      add_embedding_step(list, layer, shape);
      break;
    case LayerKind::kLayerNorm:
    case LayerKind::kRmsNorm: {
      ActivationStep& step = list.add("norm.input", {.for_input_grad = list.values()});
      step.forward = list.values();
      step.input_grad = 2 * list.values();
      break;
    }
    case LayerKind::kAttention:
      add_attention_steps(list, layer, shape);
      break;
    case LayerKind::kLatentAttention:
      add_latent_steps(list, layer, shape);
      break;
    case LayerKind::kMlp:
      add_mlp_steps(list, layer, shape);
      break;
    case LayerKind::kMoe:
      add_moe_steps(list, layer, shape);
      break;
    case LayerKind::kHead:
      add_head_steps(list, layer, shape);
      break;
    default:
      add_plain_step(list, layer, shape);
  }
  if (keeps_mask(layer.kind) && shape.masks(layer)) list.add_mask();
  std::vector<ActivationStep> steps = list.take();
  keep_in_format(steps, shape.parallelism.format);
  return steps;
}

KeptBytes kept_bytes(const LayerSpec& layer, const JobShape& shape) {
  KeptBytes sum;
  for (const ActivationStep& step : activation_steps(layer, shape)) sum += step.kept;
  return sum;
}

}  // namespace plumb
