#include "models/layers/layer_kinds.hpp"

namespace plumb {

/// A router, softmax over the experts, and MLPs of which a token goes through `experts_per_token` routed and all shared
/// ones (Shazeer et al. 2017; shared experts: DeepSeekMoE 2024). With a latent width, routed experts read and make
/// tokens of that width, and two products lead there and back (LatentMoE, Nemotron 3). FLOPs are those of the experts
/// that a token reaches; parameters are all of them.
LayerFacts describe_moe(const LayerSizes& sizes) {
  const LayerSpec& spec = sizes.spec;
  const std::int64_t width = spec.width;
  const std::int64_t inner = spec.gated ? 2 * spec.hidden : spec.hidden;
  const std::int64_t all = spec.experts + spec.shared_experts;
  const std::int64_t reached = spec.experts_per_token + spec.shared_experts;
  const std::int64_t routed_width = expert_width(spec);
  LayerFacts facts;
  facts.parameters = {sizes.matrix("router.weight", spec.experts, width)};
  if (spec.latent_width == 0) {
    facts.parameters.push_back(sizes.matrix("in.weight", all * inner, width));
    facts.parameters.push_back(sizes.matrix("out.weight", all * width, spec.hidden));
  } else {
    facts.parameters.push_back(sizes.matrix("latent_in.weight", routed_width, width));
    facts.parameters.push_back(sizes.matrix("latent_out.weight", width, routed_width));
    facts.parameters.push_back(sizes.matrix("in.weight", spec.experts * inner, routed_width));
    facts.parameters.push_back(sizes.matrix("out.weight", spec.experts * routed_width, spec.hidden));
    if (spec.shared_experts > 0) {
      facts.parameters.push_back(sizes.matrix("shared_in.weight", spec.shared_experts * inner, width));
      facts.parameters.push_back(sizes.matrix("shared_out.weight", spec.shared_experts * width, spec.hidden));
    }
  }
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
  const auto expert = [&](std::int64_t features) {
    return sizes.product(features, inner) + sizes.product(spec.hidden, features);
  };
  double products = sizes.product(width, spec.experts) +
                    static_cast<double>(spec.experts_per_token) * expert(routed_width) +
                    static_cast<double>(spec.shared_experts) * expert(width);
  if (spec.latent_width > 0) products += 2 * sizes.product(width, routed_width);
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
