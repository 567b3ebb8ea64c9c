#include "models/layers/layer_kinds.hpp"

namespace plumb {
namespace {

/// The indexer of sparse attention (DeepSeek-V3.2): queries of its heads from the latent queries, one key for all of
/// them with a layer norm, and a weight of every head. Returns the FLOPs of its products.
double add_indexer(LayerFacts& facts, const LayerSizes& sizes) {
  const LayerSpec& spec = sizes.spec;
  const std::int64_t queries = spec.index_heads * spec.index_width;
  const std::int64_t inputs = spec.query_rank > 0 ? spec.query_rank : spec.width;
  facts.parameters.push_back(sizes.matrix("index_query.weight", queries, inputs));
  facts.parameters.push_back(sizes.matrix("index_key.weight", spec.index_width, spec.width));
  facts.parameters.push_back(sizes.vector("index_norm.weight", spec.index_width, 1.0));
  facts.parameters.push_back(sizes.vector("index_norm.bias", spec.index_width));
  facts.parameters.push_back(sizes.matrix("index_heads.weight", spec.index_heads, spec.width));
  facts.stash.push_back(
      sizes.kept("index", sizes.activations(queries + spec.index_width + spec.index_heads), LastUse::kInputGrad));
  return sizes.product(inputs, queries) + sizes.product(spec.width, spec.index_width + spec.index_heads);
}

}  // namespace

/// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434): queries come from a latent of `query_rank` (or from the
/// input), keys and values from one of `key_rank`; both latents are normalised. Every query and key has a rotary part
/// of `rotary_width`, which all keys share. Nothing of size s x s is kept.
LayerFacts describe_latent_attention(const LayerSizes& sizes) {
  const LayerSpec& spec = sizes.spec;
  const std::int64_t width = spec.width;
  const std::int64_t queries = spec.heads * (spec.head_width + spec.rotary_width);
  const std::int64_t keys_values = spec.heads * (spec.head_width + spec.value_width);
  const std::int64_t values = spec.heads * spec.value_width;
  const std::int64_t latent = spec.key_rank + spec.rotary_width;
  LayerFacts facts;
  double projections =
      sizes.product(width, latent) + sizes.product(spec.key_rank, keys_values) + sizes.product(values, width);
  if (spec.query_rank > 0) {
    facts.parameters = {sizes.matrix("query_down.weight", spec.query_rank, width),
                        sizes.vector("query_norm.weight", spec.query_rank, 1.0),
                        sizes.matrix("query_up.weight", queries, spec.query_rank)};
    projections += sizes.product(width, spec.query_rank) + sizes.product(spec.query_rank, queries);
  } else {
    facts.parameters = {sizes.matrix("query.weight", queries, width)};
    projections += sizes.product(width, queries);
  }
  facts.parameters.push_back(sizes.matrix("key_down.weight", latent, width));
  facts.parameters.push_back(sizes.vector("key_norm.weight", spec.key_rank, 1.0));
  facts.parameters.push_back(sizes.matrix("key_up.weight", keys_values, spec.key_rank));
  facts.parameters.push_back(sizes.matrix("out.weight", width, values));
  if (spec.index_heads > 0) projections += add_indexer(facts, sizes);

  const std::int64_t latents = 2 * (spec.query_rank + latent);  // before and after their norms
  const std::int64_t heads_wide = 2 * queries + values;         // queries, keys, values
  for (const StashTensor& tensor :
       {sizes.kept("latents", sizes.activations(latents), LastUse::kWeightGrad),
        sizes.kept("qkv", sizes.activations(heads_wide), LastUse::kInputGrad),
        sizes.kept("log_sums", sizes.statistics(sizes.tokens() * spec.heads), LastUse::kInputGrad),
        sizes.kept("attended", sizes.activations(values), LastUse::kWeightGrad),
        sizes.made_by_input_grad("qkv_grad", sizes.activations(heads_wide))}) {
    facts.stash.push_back(tensor);
  }
  facts.input_last_use = LastUse::kWeightGrad;
  facts.output_grad_last_use = LastUse::kWeightGrad;
  facts.input_bytes = facts.output_bytes = sizes.activations(width);
  const std::int64_t seen = seen_tokens(spec, sizes.shape.sequence);
  const double scores = sizes.product(queries, seen) + sizes.product(values, seen) +
                        sizes.product(spec.index_heads * spec.index_width, sizes.shape.sequence);
  facts.forward.flops = projections + scores;
  facts.input_grad.flops = projections + 2 * scores;
  facts.weight_grad.flops = projections;
  const std::int64_t weights = sizes.weights(facts.parameter_count());
  const std::int64_t moved = sizes.activations(2 * width + 2 * latents + 2 * heads_wide + 2 * values);
  facts.forward.bytes_moved = moved + weights;
  facts.input_grad.bytes_moved = moved + sizes.activations(heads_wide) + weights;
  facts.weight_grad.bytes_moved =
      sizes.activations(2 * width + latents + heads_wide) + sizes.accumulate(facts.parameter_count());
  return facts;
}

}  // namespace plumb
