#include "models/layers/describe_layer.hpp"

#include <array>

#include "models/layers/layer_kinds.hpp"

namespace plumb {

namespace {

/// Two values read, their sum written; back, one gradient is added to another.
LayerFacts describe_add(const LayerSizes& sizes) {
  LayerFacts facts;
  facts.input_bytes = facts.from_bytes = facts.output_bytes = sizes.activations(sizes.spec.width);
  facts.forward.bytes_moved = facts.input_grad.bytes_moved = 3 * facts.output_bytes;
  return facts;
}

/// Figures that somebody measured; its times stay in the specification.
LayerFacts describe_profiled(const LayerSizes& sizes) {
  const ProfiledFigures& figures = sizes.spec.profiled;
  LayerFacts facts;
  if (figures.parameter_bytes > 0) {
    facts.parameters.push_back(sizes.vector("parameters", figures.parameter_bytes / sizes.precision.weight_bytes));
  }
  if (figures.kept_for_input_grad_bytes > 0) {
    facts.stash.push_back(sizes.kept("kept_for_input_grad", figures.kept_for_input_grad_bytes, LastUse::kInputGrad));
  }
  if (figures.kept_for_weight_grad_bytes > 0) {
    facts.stash.push_back(sizes.kept("kept_for_weight_grad", figures.kept_for_weight_grad_bytes, LastUse::kWeightGrad));
  }
  facts.output_bytes = figures.output_bytes;
  return facts;
}

}  // namespace

LayerFacts describe(const LayerSpec& spec, const MicrobatchShape& shape, const Precision& precision) {
  using Describe = LayerFacts (*)(const LayerSizes& sizes);
  // In the order of LayerKind.
  static constexpr std::array<Describe, 26> kDescribe{
      describe_embedding,      describe_norm,          describe_norm,
      describe_attention,      describe_mlp,           describe_linear,
      describe_residual,       describe_head,          describe_profiled,
      describe_values,         describe_squared_error, describe_add,
      describe_pixels,         describe_convolution,   describe_batch_norm,
      describe_group_norm,     describe_relu,          describe_max_pool,
      describe_average_pool,   describe_classifier,    describe_cross_projection,
      describe_attention_core, describe_moe,           describe_latent_attention,
      describe_mamba,          describe_further_token};
  LayerFacts facts = kDescribe.at(static_cast<std::size_t>(spec.kind))({spec, shape, precision});
  if (spec.frozen && spec.kind != LayerKind::kResidual) freeze(facts, {spec, shape, precision});
  return facts;
}

}  // namespace plumb
