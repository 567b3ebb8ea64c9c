#include "sim/plan_search/bounds/steady_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "models/ground/error.hpp"
#include "schedules/program/in_flight.hpp"
#include "sim/plan_search/bounds/plan_bounds.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kShares = 32;  ///< parts of an update's work, of which all but one count

Ticks steady_share(Ticks ticks) { return ticks / kShares * (kShares - 1); }

/// Computes the work of a stage on its place for one update, no more than any rounding of its passes gives.
Ticks work_of(const StageTimes& times, double speed, std::int64_t microbatches) {
  const Ticks pass = times.f + least_backward(times);
  if (speed == 1.0) return microbatches * pass + times.u;
  const auto there = [speed](Ticks ticks, Ticks roundings) {
    return std::max<Ticks>(0, static_cast<Ticks>(std::floor(static_cast<double>(ticks) / speed)) - roundings);
  };
  return microbatches * there(pass, 3) + there(times.u, 1);
}

Ticks sending_time(const PricedStages& stages, DeviceId from, DeviceId to, std::int64_t bytes) {
  const Route route = stages.pipeline.route(from, to);
  if (route.bytes_per_s <= 0) return 0;
  return static_cast<Ticks>(std::floor(static_cast<double>(bytes) / route.bytes_per_s * 1e9));
}

}  // namespace

std::int64_t most_ahead(std::int32_t places) { return 2 * std::int64_t{places}; }

std::int64_t scored_updates(std::int32_t places, std::int64_t microbatches) {
  return 2 + ((kShares + 1) * most_ahead(places) + microbatches - 1) / microbatches;
}

void check_ahead(const Schedule& schedule) {
  const std::vector<std::int64_t> in_flight = peak_in_flight(schedule);
  if (in_flight.front() <= most_ahead(schedule.num_devices)) return;
  throw Error("schedule '" + schedule.name + "': has " + std::to_string(in_flight.front()) +
              " microbatches in flight, expected at most " + std::to_string(most_ahead(schedule.num_devices)));
}

Ticks steady_setup_bound(const LayerPrices& prices, std::int32_t places, std::int64_t microbatches) {
  return steady_share(setup_bound(prices, places, microbatches, {.sliced = true}));
}

Ticks steady_placement_bound(const PricedStages& stages,
                             const std::vector<std::vector<std::vector<DeviceId>>>& placement,
                             std::int64_t microbatches) {
  if (placement.size() != 1) return 0;
  std::vector<Ticks> computing(stages.pipeline.devices.size());
  std::map<std::pair<DeviceId, DeviceId>, Ticks> sending;
  const auto send = [&](DeviceId from, DeviceId to, std::int64_t bytes) {
    if (from != to) sending[{from, to}] += microbatches * sending_time(stages, from, to, bytes);
  };
  const bool messages = !stages.costs.comm && !stages.costs.memory.empty();
  for (std::size_t s = 0; s < placement[0].size(); ++s) {
    if (placement[0][s].size() != 1) return 0;
    const DeviceId here = placement[0][s].front();
    computing[index(here)] += work_of(stages.costs.times[s], stages.pipeline.devices[index(here)].speed, microbatches);
    if (!messages || s == 0) continue;
    const DeviceId before = placement[0][s - 1].front();
    send(before, here, stages.costs.memory[s - 1].message_bytes(false));
    send(here, before, stages.costs.memory[s].message_bytes(true));
  }
  Ticks bound = *std::max_element(computing.begin(), computing.end());
  for (const auto& [channel, ticks] : sending) bound = std::max(bound, ticks);
  return steady_share(bound);
}

}  // namespace plumb
