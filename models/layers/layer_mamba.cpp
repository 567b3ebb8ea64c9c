#include "models/layers/layer_kinds.hpp"

namespace plumb {

/// Mamba-2 (Dao and Gu 2024, arXiv 2405.21060): a product makes gate, features, the vectors that write and read the
/// state, and step sizes; a short convolution; the scan in chunks; a gated norm; a product back to the width.
LayerFacts describe_mamba(const LayerSizes& sizes) {
  const LayerSpec& spec = sizes.spec;
  const std::int64_t width = spec.width;
  const std::int64_t inner = mamba_inner(spec);
  const std::int64_t projected = mamba_projected(spec);
  const std::int64_t convolved = inner + 2 * spec.groups * spec.state;
  LayerFacts facts;
  facts.parameters = {sizes.matrix("in.weight", projected, width),
                      sizes.matrix("convolution.weight", convolved, spec.kernel),
                      sizes.vector("convolution.bias", convolved),
                      sizes.vector("step.bias", spec.heads),
                      sizes.vector("decay", spec.heads),
                      sizes.vector("skip", spec.heads, 1.0),
                      sizes.vector("gate_norm.weight", inner, 1.0),
                      sizes.matrix("out.weight", width, inner)};
  facts.stash = {sizes.kept("projected", sizes.activations(projected), LastUse::kInputGrad),
                 sizes.kept("convolved", sizes.activations(convolved), LastUse::kInputGrad),
                 sizes.kept("scanned", sizes.activations(inner), LastUse::kInputGrad),
                 sizes.kept("gated", sizes.activations(inner), LastUse::kWeightGrad),
                 sizes.made_by_input_grad("projected_grad", sizes.activations(projected))};
  facts.input_last_use = LastUse::kWeightGrad;
  facts.output_grad_last_use = LastUse::kWeightGrad;
  facts.input_bytes = facts.output_bytes = sizes.activations(width);
  const double products = sizes.product(width, projected) + sizes.product(inner, width);
  const double scan = static_cast<double>(sizes.tokens()) * scan_flops(spec);
  facts.forward.flops = products + scan;
  facts.input_grad.flops = products + 2 * scan;
  facts.weight_grad.flops = products;
  const std::int64_t weights = sizes.weights(facts.parameter_count());
  const std::int64_t moved = sizes.activations(2 * width + 2 * projected + 3 * convolved + 4 * inner);
  facts.forward.bytes_moved = moved + weights;
  facts.input_grad.bytes_moved = 2 * moved + weights;
  facts.weight_grad.bytes_moved =
      sizes.activations(2 * width + projected + inner) + sizes.accumulate(facts.parameter_count());
  return facts;
}

}  // namespace plumb
