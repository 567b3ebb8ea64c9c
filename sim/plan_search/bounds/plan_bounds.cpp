#include "sim/plan_search/bounds/plan_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>

#include "schedules/program/in_flight.hpp"
#include "sim/plan_search/bounds/chain_bounds.hpp"

namespace plumb {
namespace {

/// Scales `ticks` to `speed`, to no more than any rounding of parts of it gives.
Ticks scaled(Ticks ticks, double speed) {
  return speed == 1.0 ? ticks : static_cast<Ticks>(std::floor(static_cast<double>(ticks) / speed));
}

Ticks floor_at_zero(Ticks ticks) { return std::max<Ticks>(0, ticks); }

/// A stage on its place, in ticks of that place.
struct PlacedStage {
  std::size_t device = 0;
  Ticks forward = 0;
  Ticks input = 0;     ///< the least part of a backward before the gradient goes on
  Ticks backward = 0;  ///< backward with weight gradient
  Ticks update = 0;
  Ticks arrives = 0;   ///< e_s: forwards and messages before the stage
  Ticks way_back = 0;  ///< r_s: input gradients and messages of the stages before
};

/// Time of a message between neighbouring stages.
struct MessageTime {
  Ticks all = 0;
  Ticks sending = 0;  ///< part of it in which the link is taken
};

MessageTime message_time(const PricedStages& stages, DeviceId from, DeviceId to, std::int64_t bytes) {
  if (from == to || stages.costs.comm) return {from == to ? 0 : *stages.costs.comm, 0};
  const Route route = stages.pipeline.route(from, to);
  const double ns = route.bytes_per_s > 0 ? static_cast<double>(bytes) / route.bytes_per_s * 1e9 : 0;
  const auto sending = static_cast<Ticks>(std::floor(ns));
  return {sending + route.latency_ns, sending};
}

PlacedStage placed_stage(const PricedStages& stages, std::size_t s, DeviceId place) {
  const StageTimes& times = stages.costs.times[s];
  const double speed = stages.pipeline.devices[index(place)].speed;
  const auto there = [&](Ticks ticks, Ticks roundings) {
    return floor_at_zero(scaled(ticks, speed) - (speed == 1.0 ? 0 : roundings));
  };
  return {.device = index(place),
          .forward = there(times.f, 1),
          .input = there(std::min(times.b, times.i), 1),
          .backward = there(least_backward(times), 2),
          .update = there(times.u, 1)};
}

/// Time of one microbatch through all stages, with messages, and of its gradient back.
struct WholeWay {
  Ticks forwards = 0;
  Ticks inputs = 0;
};

/// Statements 1 to 3 of `placement_bound`. The second loop sees the stages of each device from the last to the first,
/// so `forward` has the stages s(j) to s(n).
Ticks busiest_device(const std::vector<PlacedStage>& chain, const WholeWay& way, std::int64_t microbatches,
                     std::size_t devices) {
  struct Seen {
    Ticks forward = 0;
    Ticks input = 0;
    Ticks backward = 0;
    Ticks update = 0;
    Ticks way_back = 0;          ///< r_s(1)
    Ticks gradient_arrives = 0;  ///< time of the first gradient at s(n)
    bool used = false;
  };
  std::vector<Seen> seen(devices);
  Ticks bound = 0;
  for (const PlacedStage& stage : chain) {
    Seen& device = seen[stage.device];
    device.input += stage.input;
    device.backward += stage.backward;
    device.update += stage.update;
    if (!device.used) device.way_back = stage.way_back;
    device.used = true;
    device.gradient_arrives = way.forwards + way.inputs - stage.way_back - stage.input;
  }
  const auto take = [&](const Seen& device, Ticks from) {
    bound = std::max({bound, from + microbatches * (device.forward + device.backward) + device.update,
                      from + microbatches * (device.forward + device.input) + device.way_back});
  };
  for (const Seen& device : seen) {
    if (device.used) take(device, device.gradient_arrives);
  }
  for (std::size_t s = chain.size(); s-- > 0;) {
    Seen& device = seen[chain[s].device];
    device.forward += chain[s].forward;
    take(device, chain[s].arrives);
  }
  return bound;
}

/// Statements 1, 2 and 4 of `setup_bound` with X = `crossing`; statement 1 alone without one, where slices run ahead.
Ticks shared_bound(const LayerPrices& prices, const std::vector<double>& speed, std::int64_t microbatches,
                   std::optional<Ticks> crossing) {
  const double together = std::accumulate(speed.begin(), speed.end(), 0.0);
  const double fast = *std::max_element(speed.begin(), speed.end());
  const auto stages = static_cast<Ticks>(prices.load.size());  // the most there can be, each rounded in every pass
  const StageTimes& whole = prices.whole;
  const auto divided = [&](Ticks work) { return static_cast<Ticks>(std::floor(static_cast<double>(work) / together)); };
  const bool exact = std::all_of(speed.begin(), speed.end(), [](double each) { return each == 1.0; });
  const Ticks rounding = exact ? 0 : static_cast<Ticks>(std::ceil(fast)) * stages;
  const auto others = static_cast<Ticks>(speed.size()) - 1;
  const Ticks updates = std::max(whole.u, others * prices.least_update + prices.most_update) +
                        static_cast<Ticks>(speed.size()) * prices.place_update;
  const Ticks update = floor_at_zero(updates - stages - rounding);
  const Ticks forward = floor_at_zero(whole.f - stages - rounding);
  const Ticks backward = floor_at_zero(least_backward(whole) - 2 * stages - rounding);
  const Ticks work = divided((forward + backward) * microbatches + update);
  if (!crossing) return work;
  const Ticks input = floor_at_zero(std::min(whole.b, whole.i) - stages - rounding);
  const Ticks filled = scaled(forward, fast) + *crossing + divided(backward * microbatches + update);
  return std::max({work, filled, scaled(forward + input, fast) + 2 * *crossing});
}

}  // namespace

ScheduleKinds kinds_of(const std::vector<ScheduleVariant>& variants) {
  ScheduleKinds kinds;
  for (const ScheduleVariant& variant : variants) {
    const std::string_view placement = variant.spec->placement;
    kinds.sliced = kinds.sliced || variant.sliced;
    kinds.overlaps = kinds.overlaps || variant.overlaps;
    kinds.fuses = kinds.fuses || variant.fuses;
    kinds.splits = kinds.splits || variant.splits;
    kinds.moves = kinds.moves || variant.moves;
    kinds.hides_backwards = kinds.hides_backwards || variant.hides_backwards;
    kinds.looped = kinds.looped || placement == "looped";
    kinds.turned = kinds.turned || placement == "v" || placement == "zigzag";
    kinds.deep = kinds.deep || (placement == "zigzag" && variant.per_place != 2);
    kinds.per_place = &variant == &variants.front() ? variant.per_place : std::min(kinds.per_place, variant.per_place);
    bool& kind = placement == "linear"                                                ? kinds.linear
                 : placement == "looped" || placement == "v" || placement == "zigzag" ? kinds.single
                 : placement == "bidirectional"                                       ? kinds.copied
                                                                                      : kinds.other;
    kind = true;
  }
  return kinds;
}

LeastPasses::LeastPasses(const ScheduleKinds& kinds, const std::vector<double>& speed)
    : fuses_(kinds.fuses || !kinds.splits),
      splits_(kinds.splits || !kinds.fuses),
      overlaps_(kinds.overlaps),
      rounding_(std::ranges::all_of(speed, [](double each) { return each == 1.0; })
                    ? 0
                    : static_cast<Ticks>(std::ceil(std::ranges::max(speed)))) {}

Ticks LeastPasses::backward(const LayerLeast& layer) const {
  const LayerLeast::Passes& of = passes(layer);
  if (fuses_ && splits_) return std::min(of.b, of.i + of.w);
  return fuses_ ? of.b : of.i + of.w;
}

Ticks LeastPasses::input(const LayerLeast& layer) const {
  const LayerLeast::Passes& of = passes(layer);
  if (fuses_ && splits_) return std::min(of.b, of.i);
  return fuses_ ? of.b : of.i;
}

namespace {

/// Returns the least time in which one place after another does `work`, by layer, if each place has a layer: the slower
/// ones have the least of them.
double chained(std::vector<Ticks> work, const std::vector<double>& speed) {
  double time = 0;
  for (const Ticks each : work) time += static_cast<double>(each) / speed.front();
  if (speed.front() == speed.back()) return time;
  std::ranges::sort(work);
  for (std::size_t k = 0; k < std::min(work.size(), speed.size()); ++k) {
    const double slow = speed[speed.size() - 1 - k];
    time += static_cast<double>(work[k]) * (1 / slow - 1 / speed.front());
  }
  return time;
}

/// Statement 5 of `setup_bound`.
Ticks chain_bound(const LayerPrices& prices, std::int32_t places, std::int64_t microbatches,
                  const ScheduleKinds& kinds) {
  if (prices.least.empty() || kinds.other) return 0;
  const std::vector<double> speed = largest_of(prices.speed, static_cast<std::size_t>(places));
  const LeastPasses passes(kinds, speed);
  std::vector<Ticks> work;
  work.reserve(prices.least.size());
  for (const LayerLeast& layer : prices.least) work.push_back(passes.rounded(layer.alone.f + passes.input(layer), 4));
  const LayerLeast& first = prices.least.front();
  const LayerLeast& last = prices.least.back();
  const std::int64_t turns = kinds.copied ? (microbatches + 1) / 2 : microbatches;
  const Ticks others = (turns - 1) * passes.rounded(passes.passes(last).f + passes.input(last), 2);
  const Ticks beside = kinds.single ? 0 : prices.place_update;  // other stages of the place may have all of it
  const Ticks end =
      passes.rounded(passes.backward(first) - passes.input(first), 2) + passes.rounded(first.u + beside, 1);
  const std::int64_t changes = (places - 1) * static_cast<std::int64_t>(kinds.copied ? 1 : kinds.per_place);
  const double time = chained(std::move(work), speed) + static_cast<double>(others + end) / speed.front();
  return static_cast<Ticks>(std::floor(time * (1 - 1e-12))) + 2 * least_messages(prices, places, changes);
}

}  // namespace

Ticks setup_bound(const LayerPrices& prices, std::int32_t places, std::int64_t microbatches,
                  const ScheduleKinds& kinds) {
  const std::vector<double> speed = largest_of(prices.speed, static_cast<std::size_t>(places));
  const Ticks crossing = places > prices.most_in_node ? prices.crossing : 0;
  const Ticks largest = *std::max_element(prices.load.begin(), prices.load.end());
  const Ticks rounding = speed.front() == 1.0 ? 0 : 4 * microbatches;
  const std::int64_t turns = kinds.other ? 0 : kinds.copied ? (microbatches + 1) / 2 : microbatches;
  const Ticks slowest_layer = scaled(largest * turns, speed.front()) - rounding;
  const Ticks shared = shared_bound(prices, speed, microbatches, kinds.sliced ? std::nullopt : std::optional(crossing));
  if (kinds.sliced || kinds.other) return std::max(slowest_layer, shared);
  Ticks cuts = std::numeric_limits<Ticks>::max();
  const auto take = [&](bool is_kind, StagePlacing placing) {
    if (is_kind) cuts = std::min(cuts, cuts_bound(prices, places, microbatches, placing));
  };
  take(kinds.copied, StagePlacing::kCopied);
  take(kinds.single, StagePlacing::kSingle);
  take(kinds.linear, StagePlacing::kLinear);
  return std::max({slowest_layer, shared, cuts, traded_bound(prices, places, microbatches),
                   chain_bound(prices, places, microbatches, kinds)});
}

Ticks held_bound(const LayerPrices& prices, const std::vector<double>& speed, std::int64_t microbatches,
                 const ScheduleKinds& kinds) {
  return shared_bound(prices, speed, microbatches, kinds.sliced ? std::nullopt : std::optional<Ticks>(0));
}

Ticks replicated_bound(const LayerPrices& prices, std::int64_t microbatches) {
  Ticks bound = std::numeric_limits<Ticks>::max();
  std::vector<double> speed = largest_of(prices.speed, prices.speed.size());
  for (; !speed.empty(); speed.pop_back()) bound = std::min(bound, shared_bound(prices, speed, microbatches, 0));
  return bound;
}

std::int64_t missing_bytes(const LayerPrices& prices, std::int32_t places) {
  if (std::ranges::find(prices.usable_bytes, 0) != prices.usable_bytes.end()) return 0;
  const std::vector<std::int64_t> usable = largest_of(prices.usable_bytes, static_cast<std::size_t>(places));
  const std::int64_t room = std::accumulate(usable.begin(), usable.end(), std::int64_t{0});
  const std::int64_t largest = *std::max_element(prices.held_bytes.begin(), prices.held_bytes.end());
  const std::int64_t missing =
      std::max((prices.whole_held_bytes - room + places - 1) / places, largest - usable.front());
  if (missing <= 0 || prices.memory_scale.empty()) return std::max<std::int64_t>(0, missing);
  const double real = static_cast<double>(missing) / std::ranges::max(prices.memory_scale);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::floor(real)));
}

Ticks placement_bound(const PricedStages& stages, const std::vector<std::vector<std::vector<DeviceId>>>& placement,
                      std::int64_t microbatches) {
  if (placement.size() != 1) return 0;
  std::vector<PlacedStage> chain;
  Ticks forwards = 0;
  Ticks inputs = 0;
  Ticks bound = 0;
  for (std::size_t s = 0; s < placement[0].size(); ++s) {
    if (placement[0][s].size() != 1) return 0;
    chain.push_back(placed_stage(stages, s, placement[0][s].front()));
    chain.back().arrives = forwards;
    chain.back().way_back = inputs;
    forwards += chain.back().forward;
    inputs += chain.back().input;
    if (s + 1 == placement[0].size() || placement[0][s + 1].empty() || stages.costs.memory.empty()) continue;
    const DeviceId here = placement[0][s].front();
    const DeviceId there = placement[0][s + 1].front();
    const MessageTime down = message_time(stages, here, there, stages.costs.memory[s].message_bytes(false));
    const MessageTime up = message_time(stages, there, here, stages.costs.memory[s + 1].message_bytes(true));
    bound = std::max(bound, forwards + microbatches * down.sending);  // statement 4
    forwards += down.all;
    inputs += up.all;
  }
  return std::max(bound, busiest_device(chain, {forwards, inputs}, microbatches, stages.pipeline.devices.size()));
}

std::vector<std::int64_t> excess_by_place(const PricedStages& stages, const Schedule& schedule) {
  std::vector<std::int64_t> excess(static_cast<std::size_t>(schedule.num_devices));
  if (stages.costs.memory.empty() || !schedule.recompute.empty() || schedule.slices) return excess;
  bool split = false;
  for (const DeviceList& list : schedule.devices) {
    for (const Action& action : list.actions) {
      if (is_move(action.op) || action.op == Op::kR) return excess;
      split = split || action.op == Op::kW;
    }
  }
  const std::vector<std::int64_t> in_flight = peak_in_flight(schedule);
  std::vector<std::int64_t> held(static_cast<std::size_t>(schedule.num_devices));
  std::vector<std::int64_t> kept(held.size());
  for (const auto& replica : schedule.placement) {
    for (std::size_t s = 0; s < replica.size(); ++s) {
      const StageMemory& memory = stages.costs.memory[s];
      // Microbatches in flight are counted on the fullest holder: nothing is known about other holders.
      const bool alone = schedule.placement.size() == 1 && replica[s].size() == 1;
      for (const DeviceId device : replica[s]) {
        held[index(device)] += held_bytes(memory);
        const std::int64_t all = alone ? in_flight[s] * stash_bytes(memory, split) : 0;
        kept[index(device)] = std::max(kept[index(device)], all);
      }
    }
  }
  for (std::size_t d = 0; d < held.size(); ++d) {
    if (stages.usable_bytes[d] > 0) excess[d] = std::max<std::int64_t>(0, held[d] + kept[d] - stages.usable_bytes[d]);
  }
  return excess;
}

}  // namespace plumb
