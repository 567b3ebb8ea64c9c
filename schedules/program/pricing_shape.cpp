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

PricingShape pricing_shape(const Schedule& schedule, const CostSource& source) {
  PricingShape shape{.num_devices = schedule.num_devices,
                     .num_stages = schedule.num_stages,
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
