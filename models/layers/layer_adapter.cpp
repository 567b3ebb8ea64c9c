#include <cmath>

#include "models/layers/layer_kinds.hpp"
#include "models/network/lora.hpp"

namespace plumb {
namespace {

/// h = x A^T, y += s h B^T; I: dh = s dy B, dx += dh A; W: dB += s dy^T h, dA += dh^T x.
void add_adapter(LayerFacts& facts, const LayerSizes& sizes, const AdaptedProduct& product) {
  const std::int64_t rank = sizes.spec.lora.rank;
  const std::int64_t inputs = product.inputs;
  const std::int64_t outputs = product.outputs;
  facts.parameters.push_back(sizes.matrix(product.prefix + "lora_a", rank, inputs));
  facts.parameters.push_back(sizes.matrix(product.prefix + "lora_b", outputs, rank));
  facts.parameters.back().initial_deviation = 0;
  facts.stash.push_back(sizes.kept(product.prefix + "lora", sizes.activations(rank), LastUse::kWeightGrad));
  facts.stash.push_back(sizes.made_by_input_grad(product.prefix + "lora_grad", sizes.activations(rank)));
  const double products = sizes.product(inputs, rank) + sizes.product(rank, outputs);
  const std::int64_t narrow = 2 * rank;  // written and read
  const std::int64_t weights = sizes.weights(product.parameters(rank));
  facts.forward.flops += products;
  facts.input_grad.flops += products;
  facts.weight_grad.flops += products;
  facts.forward.bytes_moved += sizes.activations(inputs + narrow + 2 * outputs) + weights;
  facts.input_grad.bytes_moved += sizes.activations(outputs + narrow + 2 * inputs) + weights;
  facts.weight_grad.bytes_moved +=
      sizes.activations(inputs + outputs + narrow) + sizes.accumulate(product.parameters(rank));
}

/// Drops W. What was kept for it is not kept any more, or only as long as I: a forward has to write it.
void drop_weight_grad(LayerFacts& facts) {
  facts.output_grad_last_use = LastUse::kInputGrad;
  if (facts.input_last_use == LastUse::kWeightGrad) facts.input_last_use = LastUse::kForward;
  if (facts.from_last_use == LastUse::kWeightGrad) facts.from_last_use = LastUse::kForward;
  for (StashTensor& tensor : facts.stash) {
    if (tensor.made_by == StashTensor::MadeBy::kForward) tensor.last_use = LastUse::kInputGrad;
  }
}

}  // namespace

/// Gradients of norms, which I makes, are left out of its bytes.
void freeze(LayerFacts& facts, const LayerSizes& sizes) {
  const bool by_input_grad = facts.weight_grad == PassFacts{} && !facts.parameters.empty();
  if (by_input_grad) facts.input_grad.bytes_moved -= sizes.accumulate(facts.parameter_count());
  for (ParameterFacts& parameter : facts.parameters) parameter.frozen = true;
  facts.weight_grad = {};
  const std::vector<AdaptedProduct> products = adapted_products(sizes.spec, sizes.spec.lora);
  if (products.empty()) return drop_weight_grad(facts);
  for (const AdaptedProduct& product : products) add_adapter(facts, sizes, product);
}

}  // namespace plumb
