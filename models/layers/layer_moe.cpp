#include "models/layers/layer_kinds.hpp"

namespace plumb {

/// A router, softmax over the experts, and MLPs of which a token goes through `experts_per_token` routed and all shared
/// ones (Shazeer et al. 2017; shared experts: DeepSeekMoE 2024). FLOPs are those of the experts that a token reaches;
/// parameters are all of them.
LayerFacts describe_moe(const LayerSizes& sizes) {
  const LayerSpec& spec = sizes.spec;
  const std::int64_t width = spec.width;
  const std::int64_t inner = spec.gated ? 2 * spec.hidden : spec.hidden;
  const std::int64_t all = spec.experts + spec.shared_experts;
  const std::int64_t reached = spec.experts_per_token + spec.shared_experts;
  LayerFacts facts;
  facts.parameters = {sizes.matrix("router.weight", spec.experts, width), sizes.matrix("in.weight", all * inner, width),
                      sizes.matrix("out.weight", all * width, spec.hidden)};
  if (spec.bias) {
    facts.parameters.push_back(sizes.vector("in.bias", all * inner));
    facts.parameters.push_back(sizes.vector("out.bias", all * width));
  }
  facts.stash = {sizes.kept("scores", sizes.statistics(sizes.tokens() * spec.experts), LastUse::kInputGrad),
                 sizes.kept("dispatched", sizes.activations(reached * width), LastUse::kWeightGrad),
                 sizes.kept("inner", sizes.activations(reached * inner), LastUse::kInputGrad),
                 sizes.kept("activated", sizes.activations(reached * spec.hidden), LastUse::kWeightGrad),
                 sizes.made_by_input_grad("inner_grad", sizes.activations(reached * inner))};
  facts.input_last_use = LastUse::kWeightGrad;
  facts.output_grad_last_use = LastUse::kWeightGrad;
  facts.input_bytes = facts.output_bytes = sizes.activations(width);
  const double expert = sizes.product(width, inner) + sizes.product(spec.hidden, width);
  const double products = sizes.product(width, spec.experts) + static_cast<double>(reached) * expert;
  facts.forward.flops = facts.input_grad.flops = facts.weight_grad.flops = products;
  const std::int64_t values = sizes.activations(2 * width + reached * (2 * width + 2 * inner + 2 * spec.hidden));
  const std::int64_t weights = sizes.weights(facts.parameter_count());
  facts.forward.bytes_moved = values + weights;
  facts.input_grad.bytes_moved = values + sizes.activations(reached * inner) + weights;
  facts.weight_grad.bytes_moved =
      sizes.activations(reached * (2 * width + inner + spec.hidden)) + sizes.accumulate(facts.parameter_count());
  return facts;
}

}  // namespace plumb
