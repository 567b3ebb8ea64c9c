#include "sim/plan_search/prices/layer_prices.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

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

PricedStages without_communication(PricedStages stages) {
  hide_communication(stages.costs);
  return stages;
}

std::vector<std::size_t> most_loaded(const std::vector<StageTimes>& stages, std::size_t most) {
  std::vector<std::size_t> by_load(stages.size());
  std::iota(by_load.begin(), by_load.end(), std::size_t{0});
  const auto load = [&](std::size_t s) { return stages[s].f + least_backward(stages[s]); };
  std::stable_sort(by_load.begin(), by_load.end(), [&](std::size_t a, std::size_t b) { return load(a) > load(b); });
  by_load.resize(std::min(most, by_load.size()));
  return by_load;
}

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

Ticks least_messages(const LayerPrices& prices, std::int32_t places, std::int64_t changes) {
  const std::int64_t crossings = (places - 1) / prices.most_in_node;  // to each further node
  return crossings * prices.crossing + (std::max(changes, crossings) - crossings) * prices.hop;
}

PricedStages priced_layers(const PlanJob& job, const Parallelism& parallelism, const Partition& finest,
                           std::int32_t places) {
  PricedStages layers = job.price(parallelism, finest, places, {});
  if (parallelism.activation_bits == 0) return layers;
  Parallelism plain = parallelism;
  plain.activation_bits = plain.activation_grad_bits = 0;
  layers.costs.times = job.price(plain, finest, places, {}).costs.times;
  return layers;
}

bool has_unlike_places(const LayerPrices& prices) {
  const auto varies = [](const auto& values) {
    return std::ranges::adjacent_find(values, std::ranges::not_equal_to()) != values.end();
  };
  return varies(prices.speed) || varies(prices.usable_bytes);
}

}  // namespace plumb
