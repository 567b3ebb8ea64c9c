#include "sim/plan_search/prices/optimistic_machine.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <memory>
#include <utility>

#include "models/ground/error.hpp"
#include "models/jobs/unlike_tensor.hpp"
#include "sim/plan_search/prices/layer_prices.hpp"

namespace plumb {
namespace {

/// What all layers take and need with so many tensor ranks, in a fixed order.
struct OfDegree {
  PricedStages layers{};
  std::vector<double> times{};
  std::vector<double> bytes{};
};

void add_passes(const LayerLeast::Passes& passes, std::vector<double>& times) {
  for (const Ticks ticks : {passes.f, passes.b, passes.i, passes.w}) times.push_back(static_cast<double>(ticks));
}

/// Collects all figures of the layers: times alone, paired and least, and bytes, in one order for all degrees.
OfDegree of_degree(const PlanJob& job, const Parallelism& parallelism, const Partition& finest) {
  OfDegree of{.layers = priced_layers(job, parallelism, finest, 1)};
  if (!of.layers.least) throw Error("plan: unlike tensor degrees: expected layers with known prices");
  for (StageTimes& times : of.layers.costs.times) times.u -= of.layers.stage_update;
  const PricedStages paired = without_communication(of.layers);
  for (std::size_t k = 0; k < finest.num_stages(); ++k) {
    const LayerLeast& least = (*of.layers.least)[k];
    const StageMemory& memory = of.layers.costs.memory[k];
    for (const PricedStages* layers : {&std::as_const(of.layers), &paired}) {
      const StageTimes& times = layers->costs.times[k];
      of.times.push_back(static_cast<double>(times.f + least_backward(times)));
    }
    of.times.push_back(static_cast<double>(of.layers.costs.times[k].u));
    of.times.push_back(static_cast<double>(least.u));
    add_passes(least.alone, of.times);
    add_passes(least.paired, of.times);
    for (const std::int64_t bytes : {held_bytes(memory), stash_bytes(memory), least.held_bytes, least.kept_bytes}) {
      of.bytes.push_back(static_cast<double>(bytes));
    }
  }
  of.times.push_back(static_cast<double>(of.layers.stage_update));
  return of;
}

/// Returns t_p or m_p: the largest factor by which a figure is smaller than that of `reference`, and a little more,
/// since times are rounded. 1 for the reference itself.
double factor_of(const std::vector<double>& reference, const std::vector<double>& figures) {
  constexpr double kWhereNothing = 1e6;
  if (reference == figures) return 1;
  double factor = 0;
  for (std::size_t k = 0; k < figures.size(); ++k) {
    if (reference[k] <= 0) continue;
    factor = std::max(factor, figures[k] > 0 ? reference[k] / figures[k] : kWhereNothing);
  }
  return factor * (1 + 1e-9);
}

/// Returns the sums of what layers add at least.
PricedStages whole_network(const PricedStages& layers, bool paired) {
  LayerLeast sum;
  for (const LayerLeast& layer : *layers.least) sum += layer;
  const LayerLeast::Passes& passes = paired ? sum.paired : sum.alone;
  PricedStages whole;
  StageTimes& times = whole.costs.times.emplace_back();
  times = {.f = passes.f, .b = passes.b, .i = passes.i, .w = passes.w, .r = passes.f, .u = sum.u};
  whole.costs.memory.emplace_back().weight_bytes = sum.held_bytes;
  return whole;
}

/// Takes the messages of the most ranks, which are the smallest.
void take_messages(const PricedStages& of, PricedStages& layers) {
  for (std::size_t k = 0; k < layers.costs.memory.size(); ++k) {
    StageMemory& memory = layers.costs.memory[k];
    memory.output_bytes = std::min(memory.output_bytes, of.costs.memory[k].output_bytes);
    memory.input_grad_bytes = std::min(memory.input_grad_bytes, of.costs.memory[k].input_grad_bytes);
    memory.gradient_bytes = std::min(memory.gradient_bytes, of.costs.memory[k].gradient_bytes);
  }
}

/// Lowers the updates of layers alone to what each layer adds to any update.
void take_least_updates(PricedStages& layers) {
  for (std::size_t k = 0; k < layers.costs.times.size(); ++k) {
    layers.costs.times[k].u = std::min(layers.costs.times[k].u, (*layers.least)[k].u);
  }
}

using Degrees = std::map<std::int64_t, OfDegree>;

/// Adds up the speeds of all places times the factors of their degrees, from the view of one degree.
double together(const Degrees& degrees, const Parallelism& job, const PricedStages& machine, std::int64_t reference) {
  double all = 0;
  for (std::size_t place = 0; place < job.tensor_by_place.size(); ++place) {
    const auto& own = degrees.at(job.tensor_by_place[place]);
    all += machine.pipeline.devices[place].speed * factor_of(degrees.at(reference).times, own.times);
  }
  return all;
}

}  // namespace

OptimisticMachine optimistic_machine(const PlanJob& job, const Parallelism& parallelism) {
  Partition finest;
  for (std::size_t layer = 0; layer <= job.num_layers; ++layer) finest.bounds.push_back(layer);
  Degrees degrees;
  for (const std::int64_t degree : tensor_degrees(parallelism)) {
    degrees.emplace(degree, of_degree(job, with_tensor(parallelism, degree), finest));
  }
  const auto places = static_cast<std::int32_t>(parallelism.tensor_by_place.size());
  PricedStages machine = job.price(parallelism, Partition{{0, job.num_layers}}, places, {.places = {0}});
  // The reference that gives the least machine gives the best bounds.
  const auto slower = [&](const auto& a, const auto& b) {
    return together(degrees, parallelism, machine, a.first) < together(degrees, parallelism, machine, b.first);
  };
  const OfDegree& reference = std::ranges::min_element(degrees, slower)->second;
  OptimisticMachine found;
  for (std::size_t place = 0; place < parallelism.tensor_by_place.size(); ++place) {
    const OfDegree& own = degrees.at(parallelism.tensor_by_place[place]);
    const double time = factor_of(reference.times, own.times);
    const double memory = std::max(1e-9, factor_of(reference.bytes, own.bytes));
    machine.pipeline.devices[place].speed *= time;
    const double usable = std::ceil(static_cast<double>(machine.usable_bytes[place]) * memory);
    machine.usable_bytes[place] = static_cast<std::int64_t>(std::min(usable, 9e18));
    found.time_scale.push_back(time);
    found.memory_scale.push_back(memory);
  }
  PricedStages layers = reference.layers;
  take_messages(degrees.rbegin()->second.layers, layers);
  take_least_updates(layers);
  for (const bool paired : {false, true}) {
    PricedNetwork& network = paired ? found.paired : found.alone;
    network.layers = paired ? without_communication(layers) : layers;
    network.whole = whole_network(layers, paired);
    network.whole.pipeline = machine.pipeline;
    network.whole.usable_bytes = machine.usable_bytes;
    network.whole.price_per_hour = machine.price_per_hour;
    network.whole.stage_update = machine.stage_update;
  }
  return found;
}

}  // namespace plumb
