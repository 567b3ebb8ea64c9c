#include "models/layers/layer_kinds.hpp"

namespace plumb {

namespace {

/// Routed and shared experts are one matrix where a shared one is as large as a routed one and reads as wide tokens.
void add_expert_parameters(LayerFacts& facts, const LayerSizes& sizes) {
  const LayerSpec& spec = sizes.spec;
  const std::int64_t width = spec.width;
  const std::int64_t sides = spec.gated ? 2 : 1;
  const std::int64_t inner = sides * spec.hidden;
  const std::int64_t all = spec.experts + spec.shared_experts;
  const std::int64_t routed_width = expert_width(spec);
  if (spec.latent_width == 0 && spec.shared_hidden == 0) {
    facts.parameters.push_back(sizes.matrix("in.weight", all * inner, width));
    facts.parameters.push_back(sizes.matrix("out.weight", all * width, spec.hidden));
    return;
  }
  if (spec.latent_width > 0) {
    facts.parameters.push_back(sizes.matrix("latent_in.weight", routed_width, width));
    facts.parameters.push_back(sizes.matrix("latent_out.weight", width, routed_width));
  }
  facts.parameters.push_back(sizes.matrix("in.weight", spec.experts * inner, routed_width));
  facts.parameters.push_back(sizes.matrix("out.weight", spec.experts * routed_width, spec.hidden));
  if (spec.shared_experts == 0) return;
  facts.parameters.push_back(sizes.matrix("shared_in.weight", sides * shared_width(spec), width));
  facts.parameters.push_back(spec.shared_hidden > 0
                                 ? sizes.matrix("shared_out.weight", width, spec.shared_hidden)
                                 : sizes.matrix("shared_out.weight", spec.shared_experts * width, spec.hidden));
}

}  // namespace

/// A router, softmax over the experts, and MLPs of which a token goes through `experts_per_token` routed and all shared
/// ones (Shazeer et al. 2017; shared experts: DeepSeekMoE 2024). With a latent width, routed experts read and make
/// tokens of that width, and two products lead there and back (LatentMoE, Nemotron 3). FLOPs are those of the experts
/// that a token reaches; parameters are all of them.
LayerFacts describe_moe(const LayerSizes& sizes) {
  const LayerSpec& spec = sizes.spec;
  const std::int64_t width = spec.width;
  const std::int64_t sides = spec.gated ? 2 : 1;
  const std::int64_t all = spec.experts + spec.shared_experts;
  const std::int64_t reached = spec.experts_per_token + spec.shared_experts;
  const std::int64_t hidden = spec.experts_per_token * spec.hidden + shared_width(spec);  // that a token reaches
  const std::int64_t inner = sides * hidden;
  const std::int64_t routed_width = expert_width(spec);
  LayerFacts facts;
  facts.parameters = {sizes.matrix("router.weight", spec.experts, width)};
  add_expert_parameters(facts, sizes);
  if (spec.bias) {
    facts.parameters.push_back(sizes.vector("in.bias", all * sides * spec.hidden));
    facts.parameters.push_back(sizes.vector("out.bias", all * width));
  }
  if (spec.router_bias) facts.parameters.push_back(sizes.vector("router.bias", spec.experts));
  if (spec.shared_gate) facts.parameters.push_back(sizes.matrix("shared_gate.weight", 1, width));
  facts.stash = {sizes.kept("scores", sizes.statistics(sizes.tokens() * spec.experts), LastUse::kInputGrad),
                 sizes.kept("dispatched", sizes.activations(reached * width), LastUse::kWeightGrad),
                 sizes.kept("inner", sizes.activations(inner), LastUse::kInputGrad),
                 sizes.kept("activated", sizes.activations(hidden), LastUse::kWeightGrad),
                 sizes.made_by_input_grad("inner_grad", sizes.activations(inner))};
  facts.input_last_use = LastUse::kWeightGrad;
  facts.output_grad_last_use = LastUse::kWeightGrad;
  facts.input_bytes = facts.output_bytes = sizes.activations(width);
  const auto expert = [&](std::int64_t features, std::int64_t hidden_width) {
    return sizes.product(features, sides * hidden_width) + sizes.product(hidden_width, features);
  };
  double products = sizes.product(width, spec.experts) +
                    static_cast<double>(spec.experts_per_token) * expert(routed_width, spec.hidden) +
                    expert(width, shared_width(spec));
  if (spec.latent_width > 0) products += 2 * sizes.product(width, routed_width);
  facts.forward.flops = facts.input_grad.flops = facts.weight_grad.flops = products;
  const std::int64_t values = sizes.activations(2 * width + 2 * reached * width + 2 * inner + 2 * hidden);
  const std::int64_t weights = sizes.weights(facts.parameter_count());
  facts.forward.bytes_moved = values + weights;
  facts.input_grad.bytes_moved = values + sizes.activations(inner) + weights;
  facts.weight_grad.bytes_moved =
      sizes.activations(2 * reached * width + inner + hidden) + sizes.accumulate(facts.parameter_count());
  return facts;
}

}  // namespace plumb
