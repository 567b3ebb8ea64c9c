#include "models/layers/layer_kinds.hpp"

namespace plumb {

namespace {

/// Parameters between the first product and the last one.
void add_inner_parameters(LayerFacts& facts, const LayerSizes& sizes) {
  const LayerSpec& spec = sizes.spec;
  const std::int64_t inner = mamba_inner(spec);
  const std::int64_t convolved = mamba_convolved(spec);
  const auto add = [&](const ParameterFacts& parameter) { facts.parameters.push_back(parameter); };
  if (spec.kernel > 0) add(sizes.matrix("convolution.weight", convolved, spec.kernel));
  if (spec.state == 0) return;
  if (spec.gate_rank > 0) {
    add(sizes.matrix("gate_down.weight", 2 * spec.gate_rank, spec.width));
    add(sizes.matrix("gate_up.weight", mamba_gates(spec), spec.gate_rank));
  }
  if (!spec.delta && spec.kernel > 0) add(sizes.vector("convolution.bias", convolved));
  if (!spec.fixed_decay) {
    add(sizes.vector("step.bias", spec.gate_rank > 0 ? spec.groups * spec.state : spec.heads));
    add(sizes.vector("decay", spec.heads));
    if (!spec.delta) add(sizes.vector("skip", spec.heads, 1.0));
  }
  add(sizes.vector("gate_norm.weight", spec.delta ? spec.head_width : inner, 1.0));
}

}  // namespace

/// A recurrence beside a gate. Mamba-2 (Dao and Gu 2024, arXiv 2405.21060): a product makes gate, features, the vectors
/// that write and read the state, and step sizes; a short convolution; the scan in chunks; a gated norm; a product back
/// to the width. The gated delta rule (Yang et al. 2024, arXiv 2412.06464) also makes the strength of writing of every
/// head and has the norm by head; where it forgets by number of a key (Kimi Linear, arXiv 2510.26692), both gates come
/// through a narrow product. Lightning attention forgets at fixed rates. Without a state the convolution is all there
/// is (LFM2), with a gate before and after it.
LayerFacts describe_mamba(const LayerSizes& sizes) {
  const LayerSpec& spec = sizes.spec;
  const std::int64_t width = spec.width;
  const std::int64_t inner = mamba_inner(spec);
  const std::int64_t projected = mamba_projected(spec) + mamba_gates(spec);
  const std::int64_t convolved = mamba_convolved(spec);
  LayerFacts facts;
  facts.parameters = {sizes.matrix("in.weight", mamba_projected(spec), width)};
  add_inner_parameters(facts, sizes);
  facts.parameters.push_back(sizes.matrix("out.weight", width, inner));
  facts.stash = {sizes.kept("projected", sizes.activations(projected), LastUse::kInputGrad),
                 sizes.kept("convolved", sizes.activations(convolved), LastUse::kInputGrad),
                 sizes.kept("scanned", sizes.activations(inner), LastUse::kInputGrad),
                 sizes.kept("gated", sizes.activations(inner), LastUse::kWeightGrad),
                 sizes.made_by_input_grad("projected_grad", sizes.activations(projected))};
  facts.input_last_use = LastUse::kWeightGrad;
  facts.output_grad_last_use = LastUse::kWeightGrad;
  facts.input_bytes = facts.output_bytes = sizes.activations(width);
  const double products = sizes.product(width, mamba_projected(spec) + 2 * spec.gate_rank) +
                          sizes.product(spec.gate_rank, mamba_gates(spec)) + sizes.product(inner, width);
  const double scan = spec.state > 0 ? static_cast<double>(sizes.tokens()) * scan_flops(spec) : 0;
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
