#include "sim/plan_search/prices/network_prices.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "sim/plan_search/prices/optimistic_machine.hpp"

namespace plumb {
namespace {

/// Returns the least of all messages over `links`; 0 where messages are not modelled.
Ticks least_message(const PricedStages& layers, const Cluster::Network& links) {
  if (layers.costs.comm || layers.costs.memory.size() < 2) return 0;
  std::int64_t bytes = std::numeric_limits<std::int64_t>::max();
  for (std::size_t s = 1; s < layers.costs.memory.size(); ++s) {
    bytes = std::min({bytes, layers.costs.memory[s - 1].output_bytes, layers.costs.memory[s].input_grad_bytes});
  }
  const double ns = links.bytes_per_s > 0 ? static_cast<double>(bytes) / links.bytes_per_s * 1e9 : 0;
  return static_cast<Ticks>(std::floor(ns)) + links.latency_ns;
}

/// Finds the least of layers whose stages are their sums. Given times of pairs say nothing of their halves.
std::shared_ptr<const std::vector<LayerLeast>> least_of_sums(const StageCosts& layers) {
  std::vector<LayerLeast> least;
  for (std::size_t k = 0; k < layers.times.size(); ++k) {
    const StageTimes& times = layers.times[k];
    LayerLeast layer{.alone = {times.f, times.b, times.i, times.w}};
    if (times.pairs == PairTimes{}) {
      layer.paired = {times.f - times.f_comm.shown, times.b - times.b_comm.shown, times.i - times.i_comm.shown,
                      times.w - times.w_comm.shown};
    }
    if (!layers.memory.empty()) {
      layer.held_bytes = held_bytes(layers.memory[k]);
      for (const StashTensor& tensor : layers.memory[k].stash) {
        if (tensor.made_by == StashTensor::MadeBy::kForward) layer.kept_bytes += tensor.bytes;
      }
    }
    least.push_back(layer);
  }
  return std::make_shared<const std::vector<LayerLeast>>(std::move(least));
}

/// Collects prices from the network as one stage, and from every layer alone in a stage.
LayerPrices prices_of(const PlanJob& job, const PricedStages& whole, const PricedStages& layers, std::int32_t places) {
  LayerPrices prices{.in_order = job.in_order};
  prices.whole = whole.costs.times.front();
  if (!whole.costs.memory.empty()) prices.whole_held_bytes = held_bytes(whole.costs.memory.front());
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
  const Cluster::Network& near = prices.near = whole.pipeline.intra_node;
  const Cluster::Network& far = prices.far = whole.pipeline.inter_node;
  prices.crossing = least_message(layers, far);
  prices.hop = prices.most_in_node == 1 ? prices.crossing : std::min(prices.crossing, least_message(layers, near));
  prices.host_link = whole.pipeline.host_link;
  prices.links_are_modelled = !layers.costs.comm;
  if (whole.sums && !layers.costs.memory.empty()) {
    prices.times = layers.costs.times;
    prices.memory = layers.costs.memory;
  }
  if (layers.least) prices.least = *layers.least;
  prices.place_update = whole.stage_update;
  for (const StageMemory& memory : layers.costs.memory) {
    prices.messages.push_back({memory.output_bytes, memory.input_grad_bytes, memory.gradient_bytes});
    prices.least_gradient_bytes += memory.gradient_bytes;
  }
  for (const TiedWeight& tied : layers.costs.tied) prices.least_gradient_bytes -= 2 * tied.bytes;
  prices.again_takes_all =
      std::ranges::all_of(layers.costs.times, [](const StageTimes& times) { return times.r >= times.f; });
  const auto rate = [](const Cluster::Network& links) {
    return links.bytes_per_s > 0 ? links.bytes_per_s : std::numeric_limits<double>::infinity();
  };
  const bool one_node = whole.pipeline.node_of(places - 1) == whole.pipeline.node_of(0);
  prices.near_is_better = one_node || (near.latency_ns <= far.latency_ns && rate(near) >= rate(far));
  for (std::int32_t place = 0; place < places; ++place) {
    const auto at = static_cast<std::size_t>(place);
    prices.speed.push_back(whole.pipeline.devices[at].speed);
    prices.usable_bytes.push_back(whole.usable_bytes[at]);
    prices.node.push_back(whole.pipeline.node_of(place));
    if (!whole.price_per_hour.empty()) prices.price.push_back(whole.price_per_hour[at]);
  }
  return prices;
}

/// What running a layer again spares and takes, from its prices with and without.
void set_spared(const PricedStages& without, const PricedStages& with, AloneAndPaired& both) {
  for (LayerPrices* prices : {&both.alone, &both.paired}) {
    for (std::size_t layer = 0; layer < without.costs.times.size(); ++layer) {
      prices->spared_bytes.push_back(stash_bytes(without.costs.memory[layer]) - stash_bytes(with.costs.memory[layer]));
      prices->again.push_back(least_backward(with.costs.times[layer]) - least_backward(without.costs.times[layer]));
    }
  }
}

AloneAndPaired unlike_layer_prices(const PlanJob& job, const Parallelism& parallelism) {
  const OptimisticMachine machine = optimistic_machine(job, parallelism);
  const auto places = static_cast<std::int32_t>(parallelism.tensor_by_place.size());
  AloneAndPaired both{.alone = prices_of(job, machine.alone.whole, machine.alone.layers, places),
                      .paired = prices_of(job, machine.paired.whole, machine.paired.layers, places)};
  for (LayerPrices* prices : {&both.alone, &both.paired}) {
    prices->time_scale = machine.time_scale;
    prices->memory_scale = machine.memory_scale;
  }
  return both;
}

}  // namespace

AloneAndPaired both_layer_prices(const PlanJob& job, const Parallelism& parallelism, std::int32_t places) {
  if (parallelism.has_unlike_tensor()) return unlike_layer_prices(job, parallelism);
  PricedStages whole = job.price(parallelism, Partition{{0, job.num_layers}}, places, {});
  Partition finest;
  for (std::size_t layer = 0; layer <= job.num_layers; ++layer) finest.bounds.push_back(layer);
  PricedStages layers = priced_layers(job, parallelism, finest, places);
  for (PricedStages* priced : {&whole, &layers}) {
    for (StageTimes& times : priced->costs.times) times.u -= priced->stage_update;
  }
  if (!layers.least && whole.sums) layers.least = least_of_sums(layers.costs);
  AloneAndPaired both{.alone = prices_of(job, whole, layers, places), .paired = {}};
  hide_communication(whole.costs);
  hide_communication(layers.costs);
  both.paired = prices_of(job, whole, layers, places);
  if (parallelism.recompute == ActivationRecompute::kFitted && !layers.recomputable.empty()) {
    const std::vector<std::int32_t> nowhere(layers.recomputable.size(), 0);
    set_spared(job.price(parallelism, finest, places, {.recomputed = nowhere}),
               job.price(parallelism, finest, places, {.recomputed = layers.recomputable}), both);
  }
  return both;
}

LayerPrices layer_prices(const PlanJob& job, const Parallelism& parallelism, std::int32_t places, bool overlaps) {
  AloneAndPaired both = both_layer_prices(job, parallelism, places);
  return overlaps ? std::move(both.paired) : std::move(both.alone);
}

}  // namespace plumb
