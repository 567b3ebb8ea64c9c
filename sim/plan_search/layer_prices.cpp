#include "sim/plan_search/layer_prices.hpp"

#include <algorithm>
#include <cmath>
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

namespace {

/// 0 where messages are not modelled.
Ticks least_crossing(const PricedStages& layers) {
  if (layers.costs.comm || layers.costs.memory.size() < 2) return 0;
  std::int64_t bytes = std::numeric_limits<std::int64_t>::max();
  for (std::size_t s = 1; s < layers.costs.memory.size(); ++s) {
    bytes = std::min({bytes, layers.costs.memory[s - 1].output_bytes, layers.costs.memory[s].input_grad_bytes});
  }
  const Cluster::Network& far = layers.pipeline.inter_node;
  const double ns = far.bytes_per_s > 0 ? static_cast<double>(bytes) / far.bytes_per_s * 1e9 : 0;
  const auto per_ns = static_cast<double>(layers.costs.base.ticks_per_ns);
  return static_cast<Ticks>(std::floor(ns * per_ns)) + far.latency_ns * layers.costs.base.ticks_per_ns;
}

}  // namespace

void hide_communication(StageCosts& costs) {
  for (StageTimes& times : costs.times) {
    times.f -= times.f_comm.shown;
    times.b -= times.b_comm.shown;
    times.i -= times.i_comm.shown;
    times.w -= times.w_comm.shown;
    times.r -= std::min(times.r, times.f_comm.shown);
    times.f_comm = times.b_comm = times.i_comm = times.w_comm = {};
  }
}

LayerPrices layer_prices(const PlanJob& job, const Parallelism& parallelism, std::int32_t places, bool overlaps) {
  LayerPrices prices{.in_order = job.in_order};
  const auto price = [&](const Partition& partition) {
    PricedStages stages = job.price(parallelism, partition, places);
    if (overlaps) hide_communication(stages.costs);
    return stages;
  };
  const PricedStages whole = price(Partition{{0, job.num_layers}});
  prices.whole = whole.costs.times.front();
  if (!whole.costs.memory.empty()) prices.whole_held_bytes = held_bytes(whole.costs.memory.front());
  Partition finest;
  for (std::size_t layer = 0; layer <= job.num_layers; ++layer) finest.bounds.push_back(layer);
  const PricedStages layers = price(finest);
  for (std::size_t layer = 0; layer < job.num_layers; ++layer) {
    prices.load.push_back(layers.costs.times[layer].f + least_backward(layers.costs.times[layer]));
    const bool known = !layers.costs.memory.empty();
    prices.held_bytes.push_back(known ? held_bytes(layers.costs.memory[layer]) : 0);
    prices.kept_bytes.push_back(known ? stash_bytes(layers.costs.memory[layer]) : 0);
  }
  const auto by_update = [](const StageTimes& a, const StageTimes& b) { return a.u < b.u; };
  const auto [least, most] = std::minmax_element(layers.costs.times.begin(), layers.costs.times.end(), by_update);
  prices.least_update = least->u;
  prices.most_update = most->u;
  prices.most_in_node = std::min(whole.pipeline.devices_per_node, places);
  prices.crossing = least_crossing(layers);
  const Cluster::Network& near = prices.near = whole.pipeline.intra_node;
  const Cluster::Network& far = prices.far = whole.pipeline.inter_node;
  prices.host_link = whole.pipeline.host_link;
  prices.links_are_modelled = !layers.costs.comm;
  prices.ticks_per_ns = layers.costs.base.ticks_per_ns;
  if (whole.sums && !layers.costs.memory.empty()) {
    prices.times = layers.costs.times;
    prices.memory = layers.costs.memory;
  }
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
    if (!whole.price_per_hour.empty()) prices.price.push_back(whole.price_per_hour[at]);
  }
  return prices;
}

}  // namespace plumb
