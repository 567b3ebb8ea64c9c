#include "models/layers/layer_kinds.hpp"

namespace plumb {

/// I recomputes the normalised input from the input and one or two statistics per token.
LayerFacts describe_norm(const LayerSizes& sizes) {
  const LayerSpec& spec = sizes.spec;
  const bool centred = spec.kind == LayerKind::kLayerNorm;
  const std::int64_t activations = sizes.activations(spec.width);
  const std::int64_t statistics = sizes.statistics(sizes.tokens());
  LayerFacts facts;
  facts.parameters.push_back(sizes.vector("weight", spec.width, 1.0));
  if (centred && spec.bias) facts.parameters.push_back(sizes.vector("bias", spec.width));
  if (centred) facts.stash.push_back(sizes.kept("mean", statistics, LastUse::kInputGrad));
  facts.stash.push_back(sizes.kept("inverse_deviation", statistics, LastUse::kInputGrad));
  facts.input_last_use = LastUse::kInputGrad;
  facts.input_bytes = activations;
  facts.output_bytes = activations;
  const std::int64_t all_statistics = statistics * (centred ? 2 : 1);
  facts.forward.bytes_moved = 2 * activations + all_statistics + sizes.weights(facts.parameter_count());
  facts.input_grad.bytes_moved =
      3 * activations + all_statistics + sizes.weights(spec.width) + sizes.accumulate(facts.parameter_count());
  return facts;
}

}  // namespace plumb
