#include "models/layers/layer_kinds.hpp"

namespace plumb {

/// y = f(x W1 + b1) W2 + b2; gated: y = (f(x Wg) * (x Wu)) W2, with Wg and Wu stacked in one matrix. f is the layer's
/// activation, whose few FLOPs are not counted.
LayerFacts describe_mlp(const LayerSizes& sizes) {
  const LayerSpec& spec = sizes.spec;
  const std::int64_t width = spec.width;
  const std::int64_t hidden = spec.hidden;
  const std::int64_t inner = spec.gated ? 2 * hidden : hidden;
  LayerFacts facts;
  facts.parameters.push_back(sizes.matrix("in.weight", inner, width));
  if (spec.bias) facts.parameters.push_back(sizes.vector("in.bias", inner));
  facts.parameters.push_back(sizes.matrix("out.weight", width, hidden));
  if (spec.bias) facts.parameters.push_back(sizes.vector("out.bias", width));

  facts.stash = {sizes.kept("inner", sizes.activations(inner), LastUse::kInputGrad),
                 sizes.kept("activated", sizes.activations(hidden), LastUse::kWeightGrad),
                 sizes.made_by_input_grad("inner_grad", sizes.activations(inner))};
  facts.input_last_use = LastUse::kWeightGrad;
  facts.output_grad_last_use = LastUse::kWeightGrad;
  facts.input_bytes = sizes.activations(width);
  facts.output_bytes = sizes.activations(width);

  const double products = sizes.product(width, inner) + sizes.product(hidden, width);
  facts.forward.flops = products;
  facts.input_grad.flops = products;
  facts.weight_grad.flops = products;
  const std::int64_t weights = sizes.weights(facts.parameter_count());
  facts.forward.bytes_moved = sizes.activations(2 * width + 2 * inner + 2 * hidden) + weights;
  facts.input_grad.bytes_moved = sizes.activations(2 * width + 3 * inner + 2 * hidden) + weights;
  facts.weight_grad.bytes_moved =
      sizes.activations(2 * width + inner + hidden) + sizes.accumulate(facts.parameter_count());
  return facts;
}

LayerFacts describe_linear(const LayerSizes& sizes) {
  const LayerSpec& spec = sizes.spec;
  LayerFacts facts;
  facts.parameters.push_back(sizes.matrix("weight", spec.outputs, spec.width));
  if (spec.bias) facts.parameters.push_back(sizes.vector("bias", spec.outputs));
  facts.input_last_use = LastUse::kWeightGrad;
  facts.output_grad_last_use = LastUse::kWeightGrad;
  facts.input_bytes = sizes.activations(spec.width);
  facts.output_bytes = sizes.activations(spec.outputs);
  const double product = sizes.product(spec.width, spec.outputs);
  const std::int64_t values = sizes.activations(spec.width + spec.outputs);
  const std::int64_t parameters = facts.parameter_count();
  facts.input_grad_optional = true;
  facts.forward = {product, values + sizes.weights(parameters), 0};
  facts.input_grad = {product, values + sizes.weights(spec.width * spec.outputs), 0};
  facts.weight_grad = {product, values + sizes.accumulate(parameters), 0};
  return facts;
}

}  // namespace plumb
