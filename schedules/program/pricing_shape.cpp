#include "schedules/program/pricing_shape.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "models/costs/vocabulary_stages.hpp"
#include "schedules/program/in_flight.hpp"

namespace plumb {
namespace {

/// By a rule of the document or as actions of its lists.
bool recomputes_stages(const Schedule& schedule) {
  const auto is_recompute = [](const Action& action) { return action.op == Op::kR; };
  return !schedule.recompute.empty() || std::ranges::any_of(schedule.devices, [&](const DeviceList& list) {
    return std::ranges::any_of(list.actions, is_recompute);
  });
}

std::vector<std::vector<DeviceId>> holders_of_stages(const Schedule& schedule) {
  std::vector<std::vector<DeviceId>> holders(static_cast<std::size_t>(schedule.num_stages));
  for (const auto& replica : schedule.placement) {
    for (std::size_t s = 0; s < replica.size(); ++s) {
      holders[s].insert(holders[s].end(), replica[s].begin(), replica[s].end());
    }
  }
  return holders;
}

}  // namespace

std::int32_t stages_per_device(const Schedule& schedule) {
  std::vector<std::size_t> places;
  if (schedule.vocabulary) places = chain_places(*schedule.vocabulary, schedule.num_stages);
  const std::vector<StageId> shares = shares_of_blocks(schedule);
  const auto holds_layers = [&](std::size_t stage) {
    if (std::ranges::find(shares, StageId{static_cast<std::int32_t>(stage)}) != shares.end()) return false;
    if (places.empty()) return true;
    const auto last = static_cast<std::size_t>(schedule.vocabulary->num_layer_stages(schedule.num_stages));
    return places[stage] >= 1 && places[stage] <= last;
  };
  std::int32_t most = 1;
  for (const auto& replica : schedule.placement) {
    std::vector<std::int32_t> held(static_cast<std::size_t>(schedule.num_devices));
    for (std::size_t stage = 0; stage < replica.size(); ++stage) {
      if (!holds_layers(stage)) continue;
      for (const DeviceId device : replica[stage]) most = std::max(most, ++held[index(device)]);
    }
  }
  const std::int32_t layers =
      (schedule.vocabulary ? schedule.vocabulary->num_layer_stages(schedule.num_stages) : schedule.num_stages) -
      static_cast<std::int32_t>(shares.size());
  return most < layers ? most : std::max(1, (layers + schedule.num_devices - 1) / schedule.num_devices);
}

PricingShape pricing_shape(const Schedule& schedule, const CostSource& source) {
  PricingShape shape{.num_devices = schedule.num_devices,
                     .num_stages = schedule.num_stages,
                     .stages_together = stages_per_device(schedule),
                     .recompute = recomputes_stages(schedule),
                     .forward_only = schedule.forward_only,
                     .vocabulary = schedule.vocabulary,
                     .shares = shares_of_blocks(schedule)};
  // Only measured times depend on the microbatches in flight, which takes a walk through the lists to know.
  if (source.is_profile()) shape.in_flight = peak_in_flight(schedule);
  if (source.job() != nullptr && source.job()->parallelism.has_unlike_tensor()) {
    shape.holders = holders_of_stages(schedule);
  }
  return shape;
}

PricedPipeline price(const CostSource& source, const Schedule& schedule) {
  return price(source, pricing_shape(schedule, source));
}

}  // namespace plumb
