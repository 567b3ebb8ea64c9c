#include "models/network_costs.hpp"

#include <cassert>

#include "models/layer.hpp"
#include "models/network_check.hpp"
#include "models/stage_layout.hpp"

namespace plumb {

std::int64_t parameter_count(const Network& network) {
  std::int64_t count = 0;
  for (const LayerSpec& layer : network.layers) {
    for (const ParameterFacts& parameter : describe(layer, {1, network.sequence}, {}).parameters) {
      if (!parameter.tied) count += parameter.count();
    }
  }
  return count;
}

double model_flops(const Network& network, const MicrobatchShape& shape) {
  double flops = 0;
  for (const LayerSpec& layer : network.layers) {
    const LayerFacts facts = describe(layer, shape, {});
    flops += facts.forward.flops + facts.input_grad.flops + facts.weight_grad.flops;
  }
  return flops;
}

std::vector<TiedWeight> tied_weights(const Network& network, const Partition& partition, const Precision& precision) {
  const LayerSpec& head = network.layers.back();
  if (head.kind != LayerKind::kHead || !head.tied || partition.num_stages() < 2) return {};
  const std::int64_t bytes = head.vocabulary * head.width * precision.weight_bytes;
  return {{StageId{0}, static_cast<StageId>(partition.num_stages() - 1), bytes}};
}

StageCosts untimed_costs(const Network& network, const Partition& partition, const MicrobatchShape& shape,
                         const Precision& precision) {
  assert(partition.num_layers() == network.layers.size());
  check_shape(network, shape);
  StageCosts costs;
  costs.times.resize(partition.num_stages());
  for (std::size_t s = 0; s < partition.num_stages(); ++s) {
    costs.memory.push_back(stage_memory(network.layers, partition.range(s), shape, precision));
  }
  costs.tied = tied_weights(network, partition, precision);
  costs.work.samples_per_microbatch = shape.samples;
  costs.work.tokens_per_microbatch = shape.tokens();
  costs.work.model_flops_per_microbatch = model_flops(network, shape);
  return costs;
}

}  // namespace plumb
