#include "sim/plan_search/plan_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "schedules/in_flight.hpp"

namespace plumb {
namespace {

/// `ticks` at `speed`, never more than any rounding of parts of it gives.
Ticks scaled(Ticks ticks, double speed) {
  return speed == 1.0 ? ticks : static_cast<Ticks>(std::floor(static_cast<double>(ticks) / speed));
}

std::vector<double> fastest(std::vector<double> speed, std::int32_t places) {
  std::sort(speed.begin(), speed.end(), std::greater<>());
  speed.resize(static_cast<std::size_t>(places));
  return speed;
}

Ticks floor_at_zero(Ticks ticks) { return std::max<Ticks>(0, ticks); }

/// What the stages of a device take, and what lies before and behind.
struct DeviceLoad {
  Ticks before = 0;  ///< forwards before the first of its stages
  Ticks behind = 0;  ///< input gradients of the stages before, the fewest
  Ticks all = 0;     ///< of one microbatch
  Ticks chain = 0;   ///< of one microbatch: without weight gradients that can wait
  Ticks update = 0;
  bool used = false;
};

/// A message between neighbouring stages: on its way, and of that in the link.
struct MessageTime {
  Ticks all = 0;
  Ticks sending = 0;
};

MessageTime message_time(const PricedStages& stages, DeviceId from, DeviceId to, std::int64_t bytes) {
  if (from == to || stages.costs.comm) return {from == to ? 0 : *stages.costs.comm, 0};
  const Route route = stages.pipeline.route(from, to);
  const double per_ns = static_cast<double>(stages.costs.base.ticks_per_ns);
  const double ns = route.bytes_per_s > 0 ? static_cast<double>(bytes) / route.bytes_per_s * 1e9 : 0;
  const auto sending = static_cast<Ticks>(std::floor(ns * per_ns));
  return {sending + route.latency_ns * stages.costs.base.ticks_per_ns, sending};
}

}  // namespace

Ticks setup_bound(const LayerPrices& prices, std::int32_t places, std::int64_t microbatches) {
  const std::vector<double> speed = fastest(prices.speed, places);
  const double together = std::accumulate(speed.begin(), speed.end(), 0.0);
  const auto stages = static_cast<Ticks>(prices.load.size());  // no more than that, each rounded in three passes
  const StageTimes& whole = prices.whole;
  const Ticks work = floor_at_zero(whole.f + least_backward(whole) - 3 * stages) * microbatches;
  const bool alike = speed.front() == 1.0 && speed.back() == 1.0;
  const Ticks update = alike ? floor_at_zero(whole.u - stages) : 0;
  const auto divided = static_cast<Ticks>(std::floor(static_cast<double>(work + update) / together));
  const Ticks largest = *std::max_element(prices.load.begin(), prices.load.end());
  const Ticks path = floor_at_zero(whole.f + std::min(whole.b, whole.i) - 2 * stages);
  const Ticks rounding = alike ? 0 : 4 * microbatches;
  return std::max({divided, scaled(largest * microbatches, speed.front()) - rounding,
                   scaled(path, speed.front()) - (alike ? 0 : 2 * stages)});
}

Ticks replicated_bound(const LayerPrices& prices, std::int64_t microbatches) {
  const double together = std::accumulate(prices.speed.begin(), prices.speed.end(), 0.0);
  const double fastest_place = *std::max_element(prices.speed.begin(), prices.speed.end());
  const auto stages = static_cast<Ticks>(prices.load.size());
  const StageTimes& whole = prices.whole;
  const Ticks work = floor_at_zero(whole.f + least_backward(whole) - 3 * stages) * microbatches;
  const Ticks path = floor_at_zero(whole.f + std::min(whole.b, whole.i) - 2 * stages);
  return std::max(static_cast<Ticks>(std::floor(static_cast<double>(work) / together)),
                  floor_at_zero(scaled(path, fastest_place) - 2 * stages));
}

std::int64_t missing_bytes(const LayerPrices& prices, std::int32_t places) {
  std::vector<std::int64_t> usable = prices.usable_bytes;
  if (std::find(usable.begin(), usable.end(), 0) != usable.end()) return 0;
  std::sort(usable.begin(), usable.end(), std::greater<>());
  usable.resize(static_cast<std::size_t>(places));
  const std::int64_t room = std::accumulate(usable.begin(), usable.end(), std::int64_t{0});
  const std::int64_t largest = *std::max_element(prices.held_bytes.begin(), prices.held_bytes.end());
  return std::max<std::int64_t>({0, (prices.whole_held_bytes - room + places - 1) / places, largest - usable.front()});
}

Ticks placement_bound(const PricedStages& stages, const std::vector<std::vector<std::vector<DeviceId>>>& placement,
                      std::int64_t microbatches) {
  if (placement.size() != 1) return 0;
  std::vector<DeviceLoad> loads(stages.pipeline.devices.size());
  Ticks forwards = 0;
  Ticks inputs = 0;
  Ticks bound = 0;
  for (std::size_t s = 0; s < placement[0].size(); ++s) {
    if (placement[0][s].size() != 1) return 0;
    const StageTimes& times = stages.costs.times[s];
    const std::size_t device = index(placement[0][s].front());
    const double speed = stages.pipeline.devices[device].speed;
    DeviceLoad& load = loads[device];
    if (!load.used) load.before = forwards;
    load.behind = load.used ? std::min(load.behind, inputs) : inputs;
    load.used = true;
    const Ticks input = std::min(times.b, times.i);
    const Ticks rounding = speed == 1.0 ? 0 : 3;
    load.all += floor_at_zero(scaled(times.f + least_backward(times), speed) - rounding);
    load.chain += floor_at_zero(scaled(times.f + input, speed) - rounding);
    load.update += floor_at_zero(scaled(times.u, speed) - (speed == 1.0 ? 0 : 1));
    forwards += floor_at_zero(scaled(times.f, speed) - (speed == 1.0 ? 0 : 1));
    inputs += floor_at_zero(scaled(input, speed) - (speed == 1.0 ? 0 : 1));
    if (s + 1 == placement[0].size() || placement[0][s + 1].empty() || stages.costs.memory.empty()) continue;
    const DeviceId here = placement[0][s].front();
    const DeviceId there = placement[0][s + 1].front();
    const MessageTime down = message_time(stages, here, there, stages.costs.memory[s].output_bytes);
    const MessageTime up = message_time(stages, there, here, stages.costs.memory[s + 1].input_grad_bytes);
    bound = std::max(bound, forwards + microbatches * down.sending);  // one message of a channel at a time
    forwards += down.all;
    inputs += up.all;
  }
  for (const DeviceLoad& load : loads) {
    if (!load.used) continue;
    bound = std::max({bound, load.before + microbatches * load.all + load.update,
                      load.before + microbatches * load.chain + load.behind});
  }
  return bound;
}

std::int64_t excess_bytes(const PricedStages& stages, const Schedule& schedule) {
  if (stages.costs.memory.empty() || !schedule.recompute.empty() || schedule.slices) return 0;
  bool split = false;
  for (const DeviceList& list : schedule.devices) {
    for (const Action& action : list.actions) {
      if (is_move(action.op) || action.op == Op::kR) return 0;
      split = split || action.op == Op::kW;
    }
  }
  const std::vector<std::int64_t> in_flight = peak_in_flight(schedule);
  std::vector<std::int64_t> held(static_cast<std::size_t>(schedule.num_devices));
  std::vector<std::int64_t> kept(held.size());
  for (const auto& replica : schedule.placement) {
    for (std::size_t s = 0; s < replica.size(); ++s) {
      const StageMemory& memory = stages.costs.memory[s];
      // In flight is counted on the fullest holder: with several of a stage nothing is known about the others.
      const bool alone = schedule.placement.size() == 1 && replica[s].size() == 1;
      for (const DeviceId device : replica[s]) {
        held[index(device)] += held_bytes(memory);
        const std::int64_t all = alone ? in_flight[s] * stash_bytes(memory, split) : 0;
        kept[index(device)] = std::max(kept[index(device)], all);
      }
    }
  }
  std::int64_t excess = 0;
  for (std::size_t d = 0; d < held.size(); ++d) {
    if (stages.usable_bytes[d] > 0) excess = std::max(excess, held[d] + kept[d] - stages.usable_bytes[d]);
  }
  return excess;
}

}  // namespace plumb
