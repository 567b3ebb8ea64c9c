#include "sim/plan_search/plan_estimates.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>

#include "models/ground/error.hpp"
#include "models/sources/abstract_costs.hpp"
#include "schedules/program/in_flight.hpp"
#include "sim/plan_search/prices/layer_prices.hpp"
#include "sim/simulate.hpp"

namespace plumb {

namespace {

constexpr std::int32_t kPlaces = 4;
constexpr std::array<std::int64_t, 8> kMicrobatches{1, 2, 3, 4, 6, 8, 12, 16};
/// Parts in which the times of a microbatch are counted.
constexpr std::int64_t kParts = 12;

std::int64_t parts_of(Ticks part, Ticks whole) {
  return whole <= 0 ? kParts / 3 : std::llround(static_cast<double>(kParts * part) / static_cast<double>(whole));
}

/// Returns what the fullest place keeps, in stashes of the whole network.
double most_kept(const Schedule& schedule) {
  const std::vector<std::int64_t> in_flight = peak_in_flight(schedule);
  std::vector<double> kept(static_cast<std::size_t>(schedule.num_devices));
  for (const auto& replica : schedule.placement) {
    for (std::size_t s = 0; s < replica.size(); ++s) {
      for (const DeviceId device : replica[s]) kept[index(device)] += static_cast<double>(in_flight[s]);
    }
  }
  const auto copies = static_cast<double>(schedule.placement.size());
  return *std::max_element(kept.begin(), kept.end()) / (copies * static_cast<double>(schedule.num_stages));
}

/// Measures the shape of a schedule by simulating it on four places; nothing where it cannot have that size. What a
/// step takes beyond the work of its microbatches is idle, and is shared among the other places.
std::optional<ScheduleShape> run(const ScheduleVariant& variant, std::int64_t microbatches, const StageCosts& costs) {
  try {
    ScheduleParams params{.num_devices = kPlaces, .num_microbatches = microbatches, .chunks = variant.chunks};
    params.costs = [&](std::int32_t) { return costs; };
    const Schedule schedule = generate(variant.spec->name, params);
    if (schedule.policy || schedule.forward_only) return std::nullopt;
    const SimOptions options{.spans = false, .memory_curve = false, .idle_causes = false, .critical_path = false};
    const Timeline timeline = simulate_summary(schedule, costs, nullptr, {}, options);
    const StageTimes& stage = costs.times.front();
    const auto turn = static_cast<double>(variant.per_place * (stage.f + least_backward(stage)));
    const double idle = static_cast<double>(timeline.step_time) - turn * static_cast<double>(microbatches);
    return ScheduleShape{.fill = std::max(0.0, idle / (turn * (kPlaces - 1))), .kept = most_kept(schedule)};
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

ScheduleShape ScheduleShapes::measured(const ScheduleVariant& variant, std::int64_t microbatches,
                                       std::int64_t forward_share, std::int64_t input_share) {
  const Key key{variant.spec->name, variant.chunks, microbatches, forward_share, input_share};
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
  }
  const std::int64_t weight_share = std::max<std::int64_t>(0, kParts - forward_share - input_share);
  const StageCosts costs = abstract_costs(
      "F=" + std::to_string(forward_share) + ",I=" + std::to_string(input_share) + ",W=" + std::to_string(weight_share),
      "", {.num_stages = kPlaces * variant.per_place});
  std::optional<ScheduleShape> shape = run(variant, microbatches, costs);
  // Schedules that want multiples of the places, or at least twice as many, are measured at such a size.
  const std::int64_t whole_turns = (microbatches + kPlaces - 1) / kPlaces * kPlaces;
  if (!shape) shape = run(variant, whole_turns, costs);
  if (!shape) shape = run(variant, std::max<std::int64_t>(whole_turns, 2 * kPlaces), costs);
  const std::lock_guard lock(mutex_);
  return known_.try_emplace(key, shape.value_or(ScheduleShape{})).first->second;
}

ScheduleShape ScheduleShapes::of(const ScheduleVariant& variant, double turns, const StageTimes& times) {
  const Ticks whole = times.f + times.i + times.w;
  const std::int64_t forward = std::clamp<std::int64_t>(parts_of(times.f, whole), 1, kParts - 2);
  const std::int64_t input = std::clamp<std::int64_t>(parts_of(times.i, whole), 1, kParts - 1 - forward);
  const double wanted = turns * kPlaces;
  const auto above = std::lower_bound(kMicrobatches.begin(), kMicrobatches.end(), static_cast<std::int64_t>(wanted));
  const ScheduleShape shape =
      measured(variant, above == kMicrobatches.end() ? kMicrobatches.back() : *above, forward, input);
  if (wanted <= static_cast<double>(kMicrobatches.back())) return shape;
  // What grows with the microbatches goes on as it does from 8 to 16.
  const ScheduleShape half = measured(variant, 8, forward, input);
  const double further = (wanted - 16) / 8;
  const auto beyond = [&](double from, double to) { return to - from < 0.05 ? to : to + (to - from) * further; };
  return {.fill = beyond(half.fill, shape.fill), .kept = beyond(half.kept, shape.kept)};
}

std::vector<std::size_t> positions_of(const ScheduleVariant& variant, std::size_t stage, std::size_t places) {
  const std::string_view placement = variant.spec->placement;
  const std::size_t along = stage % places;
  const std::size_t back = places - 1 - along;
  if (placement == "bidirectional") return {along, back};
  const bool turns = (placement == "v" || placement == "zigzag") && stage / places % 2 == 1;
  return {turns ? back : along};
}

bool has_known_places(const ScheduleVariant& variant) {
  constexpr std::array<std::string_view, 4> kKnown{"linear", "looped", "v", "zigzag"};
  return std::ranges::find(kKnown, variant.spec->placement) != kKnown.end();
}

std::vector<double> position_loads(const ScheduleVariant& variant, const std::vector<double>& loads,
                                   const std::vector<double>& speed) {
  std::vector<double> sums(speed.size());
  for (std::size_t s = 0; s < loads.size(); ++s) {
    const std::vector<std::size_t> positions = positions_of(variant, s, speed.size());
    for (const std::size_t at : positions) sums[at] += loads[s] / static_cast<double>(positions.size()) / speed[at];
  }
  return sums;
}

double estimated_ticks(const std::vector<double>& position_loads, std::int64_t microbatches, double fill) {
  const double slowest = *std::max_element(position_loads.begin(), position_loads.end());
  const double mean =
      std::accumulate(position_loads.begin(), position_loads.end(), 0.0) / static_cast<double>(position_loads.size());
  return static_cast<double>(microbatches) * slowest + fill * static_cast<double>(position_loads.size() - 1) * mean;
}

std::vector<double> stage_loads(const LayerPrices& prices, const Partition& cut) {
  std::vector<double> loads;
  for (std::size_t s = 0; s < cut.num_stages(); ++s) {
    const LayerRange range = cut.range(s);
    loads.push_back(std::accumulate(prices.load.begin() + static_cast<std::ptrdiff_t>(range.begin),
                                    prices.load.begin() + static_cast<std::ptrdiff_t>(range.end), 0.0));
  }
  return loads;
}

ProbableRoom::ProbableRoom(const LayerPrices& prices)
    : limited_(std::ranges::find(prices.usable_bytes, 0) == prices.usable_bytes.end()),
      most_(static_cast<double>(std::ranges::max(prices.usable_bytes))),
      held_(static_cast<double>(prices.whole_held_bytes)),
      stashes_(std::accumulate(prices.kept_bytes.begin(), prices.kept_bytes.end(), 0.0)),
      spared_(std::accumulate(prices.spared_bytes.begin(), prices.spared_bytes.end(), 0.0)),
      longer_(std::accumulate(prices.again.begin(), prices.again.end(), 0.0) /
              std::max(1.0, std::accumulate(prices.load.begin(), prices.load.end(), 0.0))) {}

double ProbableRoom::again(std::int32_t places, double kept) const {
  if (!limited_ || spared_ <= 0 || kept <= 0) return 1;
  const double missing = held_ / places + kept * (stashes_ + spared_) - most_;
  return 1 + longer_ * std::clamp(missing / (kept * spared_), 0.0, 1.0);
}

}  // namespace plumb
