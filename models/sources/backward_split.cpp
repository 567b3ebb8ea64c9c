#include "models/sources/backward_split.hpp"

#include "models/layers/describe_layer.hpp"

namespace plumb {

double input_grad_share(const Network& network) {
  double inputs = 0;
  double weights = 0;
  for (const LayerSpec& layer : network.layers) {
    if (layer.kind == LayerKind::kProfiled) return 0;
    const LayerFacts facts = describe(layer, {network.samples, network.sequence}, kMixedPrecision);
    inputs += facts.input_grad.flops;
    weights += facts.weight_grad.flops;
  }
  return inputs + weights > 0 ? inputs / (inputs + weights) : 0;
}

}  // namespace plumb
