#include <algorithm>
#include <string>

#include "models/ground/error.hpp"
#include "models/layers/layer_kinds.hpp"
#include "models/layers/layer_workspace.hpp"
#include "models/network/network_check.hpp"

namespace plumb {

namespace {

void check(const LayerSpec& spec, bool sliced) {
  check_heads(spec);
  if (!spec.causal && sliced) throw Error("layer '" + spec.name + "': sequence slices need causal attention");
}

/// RMS norms of every head's query and key, or of all of them: their input is kept beside their output, and 1 / rms of
/// each.
void add_head_norms(LayerFacts& facts, const LayerSizes& sizes) {
  const LayerSpec& spec = sizes.spec;
  const std::int64_t kv_heads = spec.kv_heads == 0 ? spec.heads : spec.kv_heads;
  const std::int64_t heads = spec.heads + kv_heads;
  const std::int64_t rows = sizes.activations(heads * head_width(spec));
  const std::int64_t statistics = sizes.statistics(sizes.tokens() * (spec.whole_norm ? 2 : heads));
  const std::int64_t queries = spec.whole_norm ? queries_width(spec) : head_width(spec);
  const std::int64_t keys = spec.whole_norm ? kv_heads * head_width(spec) : head_width(spec);
  facts.parameters.push_back(sizes.vector("query_norm.weight", queries, 1.0));
  facts.parameters.push_back(sizes.vector("key_norm.weight", keys, 1.0));
  facts.stash.push_back(sizes.kept("heads_before_norm", rows, LastUse::kInputGrad));
  facts.stash.push_back(sizes.kept("inverse_deviation", statistics, LastUse::kInputGrad));
  facts.forward.bytes_moved += 2 * rows + statistics + sizes.weights(queries + keys);
  facts.input_grad.bytes_moved +=
      3 * rows + statistics + sizes.weights(queries + keys) + sizes.accumulate(queries + keys);
}

/// What attention makes times the sigmoid of a product of the input: both factors are kept.
void add_gate(LayerFacts& facts, const LayerSizes& sizes) {
  const std::int64_t made = sizes.activations(attended_width(sizes.spec));
  facts.stash.push_back(sizes.kept("gate", 2 * made, LastUse::kInputGrad));
  facts.forward.bytes_moved += 3 * made;
  facts.input_grad.bytes_moved += 5 * made;
}

}  // namespace

/// F: qkv = x Wqkv, attended = softmax(q k / sqrt(d)) v, y = attended Wout. I computes the scores again from q, k and
/// the log-sums (as FlashAttention does), so that nothing of size s x s is kept.
///
/// A sequence slice also sees the keys and values of the slices before it. Both directions gather them sample by sample
/// in the workspace. A slice's FLOPs for scores grow with the prefix: the slices of a microbatch add up to all of it.
LayerFacts describe_attention(const LayerSizes& sizes) {
  const LayerSpec& spec = sizes.spec;
  check(spec, sizes.shape.before + sizes.shape.after > 0);
  const std::int64_t width = spec.width;
  const std::int64_t inner = attended_width(spec);
  const std::int64_t qkv_width = attention_columns(spec);
  const std::int64_t sequence = sizes.shape.sequence;
  const std::int64_t before = sizes.shape.before;
  LayerFacts facts;
  facts.parameters.push_back(sizes.matrix("qkv.weight", qkv_width, width));
  if (spec.bias || spec.qkv_bias) facts.parameters.push_back(sizes.vector("qkv.bias", qkv_width));
  facts.parameters.push_back(sizes.matrix("out.weight", width, inner));
  if (spec.bias) facts.parameters.push_back(sizes.vector("out.bias", width));

  facts.stash = {sizes.kept("qkv", sizes.activations(qkv_width), LastUse::kInputGrad),
                 sizes.kept("log_sums", sizes.statistics(sizes.tokens() * spec.heads), LastUse::kInputGrad),
                 sizes.kept("attended", sizes.activations(inner), LastUse::kWeightGrad),
                 sizes.made_by_input_grad("qkv_grad", sizes.activations(qkv_width))};
  facts.input_last_use = LastUse::kWeightGrad;
  facts.output_grad_last_use = LastUse::kWeightGrad;
  facts.input_bytes = sizes.activations(width);
  facts.output_bytes = sizes.activations(width);

  const double projections = sizes.product(width, qkv_width) + sizes.product(inner, width);
  const double scores = sizes.product(queries_width(spec) + inner, sequence + 2 * before);  // q k and (scores) v
  facts.forward.flops = projections + scores;
  facts.input_grad.flops = projections + 2 * scores;
  facts.weight_grad.flops = projections;

  const std::int64_t weights = sizes.weights(facts.parameter_count());
  facts.forward.bytes_moved = sizes.activations(2 * width + 2 * inner + 2 * qkv_width) + weights;
  facts.input_grad.bytes_moved = sizes.activations(2 * width + 3 * inner + 3 * qkv_width) + weights;
  facts.weight_grad.bytes_moved =
      sizes.activations(2 * width + inner + qkv_width) + sizes.accumulate(facts.parameter_count());

  const std::int64_t number = sizes.precision.activation_bytes;
  const std::int64_t score_rows = std::min(kAttentionRows, sequence) * (before + sequence) * number;
  const std::int64_t keys_width = plumb::qkv_width(spec) - queries_width(spec);
  const std::int64_t gathered = before > 0 ? (before + sequence) * keys_width * number : 0;
  const std::int64_t angles = spec.rotary ? sequence * head_width(spec) * number : 0;
  facts.forward.workspace_bytes = score_rows + angles + gathered;
  facts.input_grad.workspace_bytes = 2 * score_rows + angles + sizes.activations(inner) + 2 * gathered;
  if (sizes.shape.after > 0) {
    facts.key_grad_bytes = sizes.activations(keys_width);
  } else {
    facts.earlier_key_grad_bytes = sizes.shape.samples * before * keys_width * number;
  }
  if (spec.head_norm || spec.whole_norm) add_head_norms(facts, sizes);
  if (spec.gated) add_gate(facts, sizes);
  if (spec.sinks) facts.parameters.push_back(sizes.vector("sinks", spec.heads));
  return facts;
}

/// Rows q | k | v of given queries, keys and values; nothing of size s x s is kept, I computes the scores again.
LayerFacts describe_attention_core(const LayerSizes& sizes) {
  const LayerSpec& spec = sizes.spec;
  const std::string where = "layer '" + spec.name + "': ";
  check(spec, false);
  if (sizes.shape.before + sizes.shape.after > 0) throw Error(where + "cannot be cut into sequence slices");
  const std::int64_t sequence = sizes.shape.sequence;
  LayerFacts facts;
  facts.input_bytes = sizes.activations(qkv_width(spec));
  facts.output_bytes = sizes.activations(spec.width);
  facts.input_last_use = LastUse::kInputGrad;
  facts.stash = {sizes.kept("log_sums", sizes.statistics(sizes.tokens() * spec.heads), LastUse::kInputGrad)};
  if (spec.padded) facts.stash.push_back(sizes.kept("lengths", sizes.shape.samples * 4, LastUse::kInputGrad));
  const double scores = 2 * sizes.product(spec.width, sequence);
  facts.forward.flops = scores;
  facts.input_grad.flops = 2 * scores;
  facts.forward.bytes_moved = facts.input_bytes + facts.output_bytes;
  facts.input_grad.bytes_moved = 2 * facts.input_bytes + facts.output_bytes;
  const std::int64_t rows = std::min(kAttentionRows, sequence) * sequence * sizes.precision.activation_bytes;
  facts.forward.workspace_bytes = rows;
  facts.input_grad.workspace_bytes = 2 * rows;
  return facts;
}

/// q = x Wq + bq; k, v = m Wkv + bkv of a second value m: one in-projection, as in a decoder's cross-attention.
LayerFacts describe_cross_projection(const LayerSizes& sizes) {
  const std::int64_t width = sizes.spec.width;
  LayerFacts facts;
  facts.parameters.push_back(sizes.matrix("weight", 3 * width, width));
  if (sizes.spec.bias) facts.parameters.push_back(sizes.vector("bias", 3 * width));
  facts.input_bytes = facts.from_bytes = sizes.activations(width);
  facts.output_bytes = sizes.activations(3 * width);
  facts.input_last_use = facts.from_last_use = LastUse::kWeightGrad;
  facts.output_grad_last_use = LastUse::kWeightGrad;
  const double product = sizes.product(width, 3 * width);
  const std::int64_t values = sizes.activations(5 * width);
  const std::int64_t parameters = facts.parameter_count();
  facts.forward = {product, values + sizes.weights(parameters), 0};
  facts.input_grad = {product, values + sizes.weights(3 * width * width), 0};
  facts.weight_grad = {product, values + sizes.accumulate(parameters), 0};
  return facts;
}

}  // namespace plumb
