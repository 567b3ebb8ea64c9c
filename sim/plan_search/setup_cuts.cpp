#include "sim/plan_search/setup_cuts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "schedules/program/in_flight.hpp"
#include "sim/plan_search/copy_shares.hpp"
#include "sim/plan_search/plan_cuts.hpp"
#include "sim/plan_search/plan_estimates.hpp"

namespace plumb {
namespace {

constexpr std::size_t kMostOrders = 256;
/// Number of shares whose trials take as long as choosing the shares of copies.
constexpr std::int64_t kChosen = 64;

/// Returns speeds by position of the pipeline; with copies the mean, since a faster one takes more microbatches.
std::vector<double> speeds_of(const PlanSetup& setup, const std::vector<std::int32_t>& order) {
  std::vector<double> speed(static_cast<std::size_t>(setup.places));
  for (std::size_t at = 0; at < order.size(); ++at) {
    speed[at % speed.size()] += setup.prices->speed[static_cast<std::size_t>(order[at])] / setup.copies;
  }
  return speed;
}

/// Returns the usable bytes less those that are spared: the least of all copies; 0: no limit.
std::vector<std::int64_t> rooms_of(const PlanSetup& setup, const std::vector<std::int32_t>& order,
                                   const std::vector<std::int64_t>& spare_bytes) {
  std::vector<std::int64_t> room(static_cast<std::size_t>(setup.places));
  for (std::size_t at = 0; at < order.size(); ++at) {
    const auto place = static_cast<std::size_t>(order[at]);
    const std::int64_t usable = setup.prices->usable_bytes.empty() ? 0 : setup.prices->usable_bytes[place];
    if (usable == 0) continue;
    const std::int64_t left = std::max<std::int64_t>(1, usable - (spare_bytes.empty() ? 0 : spare_bytes[place]));
    std::int64_t& least = room[at % room.size()];
    least = least == 0 ? left : std::min(least, left);
  }
  return room;
}

/// Returns what the prices of stage `s` are multiplied by to be compared with those of layers.
double time_scale(const PlanSetup& setup, const ScheduleVariant& variant, const std::vector<std::int32_t>& order,
                  std::size_t s) {
  if (setup.prices->time_scale.empty()) return 1;
  const std::size_t at = positions_of(variant, s, static_cast<std::size_t>(setup.places)).front();
  return setup.prices->time_scale[static_cast<std::size_t>(order[at])];
}

/// Adds up the loads of stages by place, the slowest place first.
std::vector<double> slowest_first(const ScheduleVariant& variant, const std::vector<double>& loads,
                                  const std::vector<double>& speed) {
  std::vector<double> places = position_loads(variant, loads, speed);
  std::sort(places.begin(), places.end(), std::greater<>());
  return places;
}

/// Moves single layers between stages while the slowest place gets faster. Places are compared from the slowest on, so
/// a move also counts if it leaves the slowest place and helps the next one; the best move of all is made each time.
Partition balanced_places(const LayerPrices& prices, const ScheduleVariant& variant, const std::vector<double>& speed,
                          Partition cut) {
  constexpr std::size_t kMostStages = 64;
  if (cut.num_stages() > kMostStages) return cut;
  const auto slowness = [&](const Partition& of) { return slowest_first(variant, stage_loads(prices, of), speed); };
  for (std::vector<double> best = slowness(cut);;) {
    std::optional<Partition> better;
    for (Partition& near : near_cuts(cut, {})) {
      std::vector<double> loads = slowness(near);
      if (loads >= best) continue;
      best = std::move(loads);
      better = std::move(near);
    }
    if (!better) return cut;
    cut = std::move(*better);
  }
}

/// Lists the variants that differ in the places of stages.
std::vector<const ScheduleVariant*> unlike_placements(const std::vector<ScheduleVariant>& variants,
                                                      const PlanSetup& setup, std::size_t stages) {
  std::vector<const ScheduleVariant*> unlike;
  std::set<std::string_view> seen;
  for (const ScheduleVariant& variant : variants) {
    if (!setup.tries(variant) || static_cast<std::size_t>(variant.stages(setup.places)) != stages) continue;
    if (seen.insert(variant.spec->placement).second) unlike.push_back(&variant);
  }
  return unlike;
}

/// Returns whether the places of an order have one tensor degree, as those of another setup have.
bool is_alike(const PlanSetup& setup, const std::vector<std::int32_t>& order) {
  const std::vector<std::int32_t>& degrees = setup.parallelism->tensor_by_place;
  const auto degree = [&](std::int32_t place) { return degrees[static_cast<std::size_t>(place)]; };
  return !degrees.empty() &&
         std::ranges::all_of(order, [&](std::int32_t place) { return degree(place) == degree(order.front()); });
}

/// Lists orders of the places of all copies, the fastest copy first, since they could be exchanged with their shares.
/// If not all orders are tried, those are added in which holders of a stage are neighbours.
DeviceOrders orders_of(const PlanSetup& setup, std::size_t most) {
  const LayerPrices& prices = *setup.prices;
  DeviceOrders orders = device_orders(prices, setup.places * setup.copies, most);
  if (setup.copies == 1) {
    std::erase_if(orders.orders, [&](const std::vector<std::int32_t>& order) { return is_alike(setup, order); });
    return orders;
  }
  const auto places = static_cast<std::size_t>(setup.places);
  const auto copies = static_cast<std::size_t>(setup.copies);
  for (std::size_t k = 0, count = orders.orders.size(); k < count && !orders.complete; ++k) {
    std::vector<std::int32_t> together = orders.orders[k];
    for (std::size_t at = 0; at < together.size(); ++at) {
      together[at] = orders.orders[k][at % places * copies + at / places];
    }
    orders.orders.push_back(std::move(together));
  }
  if (!orders.complete) {
    for (std::vector<std::int32_t>& order : orders.orders) sort_copies(order, setup.copies);
    std::ranges::sort(orders.orders);
    orders.orders.erase(std::unique(orders.orders.begin(), orders.orders.end()), orders.orders.end());
    return orders;
  }
  using SpeedAndMemory = std::pair<double, std::int64_t>;
  std::erase_if(orders.orders, [&](const std::vector<std::int32_t>& order) {
    std::vector<std::vector<SpeedAndMemory>> made(copies);
    for (std::size_t at = 0; at < order.size(); ++at) {
      const auto place = static_cast<std::size_t>(order[at]);
      made[at / places].emplace_back(prices.speed[place], prices.usable_bytes[place]);
    }
    return !std::ranges::is_sorted(made, std::ranges::greater());
  });
  return orders;
}

}  // namespace

Ticks cut_estimate(const PlanSetup& setup, const ScheduleVariant& variant, const SetupCut& cut,
                   ScheduleShapes& shapes) {
  const LayerPrices& prices = *setup.prices;
  // All microbatches on the slowest place, filling and draining by the schedule's shape, and the update; longer where
  // layers probably run again for lack of room, and several times as long where even that is not enough.
  const double turns = static_cast<double>(setup.microbatches) / setup.copies / setup.places;
  const ScheduleShape shape = shapes.of(variant, turns, prices.whole);
  const std::vector<double> loads =
      position_loads(variant, stage_loads(prices, cut.partition), speeds_of(setup, cut.order));
  double ticks = estimated_ticks(loads, setup.turns(), shape.fill);
  ticks += static_cast<double>(prices.whole.u) / setup.places;
  const ProbableRoom room(prices);
  ticks *= room.again(setup.places, shape.kept);
  if (!room.fits(setup.places, shape.kept)) ticks *= kUnlikely;
  return std::max(setup.bound, static_cast<Ticks>(ticks));
}

std::optional<Partition> balanced_stages(const PlanSetup& setup, const ScheduleVariant& variant,
                                         const std::vector<std::int32_t>& order,
                                         const std::vector<std::int64_t>& in_flight,
                                         const std::vector<std::int64_t>& spare_bytes) {
  const LayerPrices& prices = *setup.prices;
  const auto places = static_cast<std::size_t>(setup.places);
  const auto share = static_cast<std::int64_t>(in_flight.size() / places);
  const std::vector<double> speed = speeds_of(setup, order);
  const std::vector<std::int64_t> room = rooms_of(setup, order, spare_bytes);
  std::vector<StageRoom> rooms;
  bool limited = false;
  for (std::size_t s = 0; s < in_flight.size(); ++s) {
    const std::size_t at = positions_of(variant, s, places).front();
    limited = limited || in_flight[s] != 0;
    const bool has_limit = in_flight[s] != 0 && room[at] != 0;
    rooms.push_back({.speed = speed[at],
                     .room_bytes = has_limit ? std::max<std::int64_t>(1, room[at] / share) : 0,
                     .in_flight = in_flight[s]});
  }
  std::optional<Partition> cut =
      balanced_cut({prices.load, prices.held_bytes, prices.kept_bytes, prices.spared_bytes, prices.again}, rooms);
  // `balanced_cut` knows stages only; a place with several is balanced by moving layers, where memory does not matter.
  if (!cut || limited) return cut;
  return balanced_places(prices, variant, speed, *std::move(cut));
}

SetupCuts cuts_of(const PlanSetup& setup, const std::vector<ScheduleVariant>& variants, std::int64_t most,
                  ScheduleShapes& shapes) {
  const std::size_t layers = setup.prices->load.size();
  const DeviceOrders orders = orders_of(setup, kMostOrders);
  const DeviceOrders few = orders_of(setup, 1);
  const std::int64_t shares = count_shares(setup.microbatches, setup.copies, most);
  std::set<std::size_t> counts;
  for (const ScheduleVariant& variant : variants) {
    if (setup.tries(variant)) counts.insert(static_cast<std::size_t>(variant.stages(setup.places)));
  }
  SetupCuts found;
  const auto& only = setup.job->only_cut;
  for (const std::size_t stages : counts) {
    const std::int64_t cuts = only ? 1 : count_cuts(layers, stages, most);
    const auto number = cuts * static_cast<std::int64_t>(orders.orders.size());
    // All cuts times orders (times shares) are tried if that is few; otherwise a balanced cut for each placement.
    const bool exact = orders.complete && number * std::min(shares, kChosen) <= most;
    found.few_shares = found.few_shares && exact && number * shares <= most;
    found.exact = found.exact && exact;
    for (const auto& order : exact ? orders.orders : few.orders) {
      std::vector<Partition> partitions;
      if (exact && !only) partitions = all_cuts(layers, stages);
      if (const auto cut = only ? only(stages) : std::nullopt; cut) partitions.push_back(*cut);
      for (const ScheduleVariant* variant : unlike_placements(variants, setup, stages)) {
        if (exact || only) break;
        auto cut = balanced_stages(setup, *variant, order, std::vector<std::int64_t>(stages, 0));
        if (cut && std::find(partitions.begin(), partitions.end(), *cut) == partitions.end())
          partitions.push_back(*cut);
      }
      for (Partition& partition : partitions) found.cuts.push_back({.order = order, .partition = std::move(partition)});
    }
  }
  for (SetupCut& cut : found.cuts) {
    cut.estimate = std::numeric_limits<Ticks>::max();
    for (const ScheduleVariant& variant : variants) {
      if (!setup.tries(variant)) continue;
      if (static_cast<std::size_t>(variant.stages(setup.places)) != cut.partition.num_stages()) continue;
      cut.estimate = std::min(cut.estimate, cut_estimate(setup, variant, cut, shapes));
    }
  }
  return found;
}

std::vector<Partition> promising_cuts(const PlanSetup& setup, const ScheduleVariant& variant, const SetupCut& here,
                                      const StageCosts& costs) {
  const LayerPrices& prices = *setup.prices;
  const std::vector<double> speed = speeds_of(setup, here.order);
  const std::vector<double> layers = stage_loads(prices, here.partition);
  std::vector<double> now;
  for (std::size_t s = 0; s < costs.times.size(); ++s) {
    const auto load = static_cast<double>(costs.times[s].f + least_backward(costs.times[s]));
    now.push_back(load * time_scale(setup, variant, here.order, s));
  }
  const std::vector<double> places = slowest_first(variant, now, speed);
  // With few microbatches a step is mostly filling and draining, which any cut may shorten.
  const bool filling = setup.turns() < 2 * static_cast<std::int64_t>(setup.places);
  std::vector<Partition> cuts;
  for (Partition& cut : near_cuts(here.partition, most_loaded(costs.times, 2))) {
    std::vector<double> loads = stage_loads(prices, cut);
    for (std::size_t s = 0; s < loads.size(); ++s) {
      // Priced stages plus what the layers that come or go take alone.
      const double changed = now[s] + loads[s] - layers[s];
      const bool may_spare = !prices.again.empty() && loads[s] < layers[s];
      loads[s] = may_spare ? std::min(changed, loads[s]) : changed;
    }
    if (filling || slowest_first(variant, loads, speed) < places) cuts.push_back(std::move(cut));
  }
  return cuts;
}

std::optional<Partition> roomier_stages(const PlanSetup& setup, const ScheduleVariant& variant,
                                        const std::vector<std::int32_t>& order, const Schedule& schedule,
                                        const std::vector<std::int64_t>& spare_bytes) {
  std::vector<std::int64_t> in_flight = peak_in_flight(schedule);
  for (std::int64_t& count : in_flight) count = std::max<std::int64_t>(1, count);
  return balanced_stages(setup, variant, order, in_flight, spare_bytes);
}

bool add_spare(const PlanSetup& setup, const ScoredPlan& tight, std::vector<std::int64_t>& spare_bytes) {
  const std::vector<std::int64_t>& usable = setup.prices->usable_bytes;
  const auto place = static_cast<std::size_t>(tight.worst_place);
  const std::vector<double>& scale = setup.prices->memory_scale;
  const double scaled = static_cast<double>(tight.excess_bytes) * (scale.empty() ? 1 : scale[place]);
  const auto excess = static_cast<std::int64_t>(std::ceil(scaled));
  if (excess == 0 || excess > usable[place] / 10) return false;
  spare_bytes.resize(usable.size());
  spare_bytes[place] += excess;
  return true;
}

}  // namespace plumb
