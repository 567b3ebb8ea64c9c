#include "sim/plan_search/layer_prices.hpp"

#include <algorithm>
#include <limits>

namespace plumb {

std::int64_t held_bytes(const StageMemory& memory) {
  return memory.weight_bytes + memory.gradient_bytes + memory.optimizer_bytes;
}

std::int64_t stash_bytes(const StageMemory& memory, bool weight_grad_only) {
  const auto counts = [&](LastUse use) {
    return use == LastUse::kWeightGrad || (!weight_grad_only && use == LastUse::kInputGrad);
  };
  std::int64_t bytes = counts(memory.input_last_use) ? memory.input_bytes : 0;
  for (const StashTensor& tensor : memory.stash) {
    if (tensor.made_by == StashTensor::MadeBy::kForward && counts(tensor.last_use)) bytes += tensor.bytes;
  }
  return bytes;
}

Ticks least_backward(const StageTimes& times) { return std::min(times.b, times.i + times.w); }

LayerPrices layer_prices(const PlanJob& job, const Parallelism& parallelism, std::int32_t places) {
  LayerPrices prices;
  const PricedStages whole = job.price(parallelism, Partition{{0, job.num_layers}}, places);
  prices.whole = whole.costs.times.front();
  if (!whole.costs.memory.empty()) prices.whole_held_bytes = held_bytes(whole.costs.memory.front());
  Partition finest;
  for (std::size_t layer = 0; layer <= job.num_layers; ++layer) finest.bounds.push_back(layer);
  const PricedStages layers = job.price(parallelism, finest, places);
  for (std::size_t layer = 0; layer < job.num_layers; ++layer) {
    prices.load.push_back(layers.costs.times[layer].f + least_backward(layers.costs.times[layer]));
    const bool known = !layers.costs.memory.empty();
    prices.held_bytes.push_back(known ? held_bytes(layers.costs.memory[layer]) : 0);
    prices.kept_bytes.push_back(known ? stash_bytes(layers.costs.memory[layer]) : 0);
  }
  const Cluster::Network& near = whole.pipeline.intra_node;
  const Cluster::Network& far = whole.pipeline.inter_node;
  const auto rate = [](const Cluster::Network& links) {
    return links.bytes_per_s > 0 ? links.bytes_per_s : std::numeric_limits<double>::infinity();
  };
  const bool one_node = places <= whole.pipeline.devices_per_node;
  prices.near_is_better = one_node || (near.latency_ns <= far.latency_ns && rate(near) >= rate(far));
  for (std::int32_t place = 0; place < places; ++place) {
    const auto at = static_cast<std::size_t>(place);
    prices.speed.push_back(whole.pipeline.devices[at].speed);
    prices.usable_bytes.push_back(whole.usable_bytes[at]);
    prices.node.push_back(place / whole.pipeline.devices_per_node);
  }
  return prices;
}

}  // namespace plumb
