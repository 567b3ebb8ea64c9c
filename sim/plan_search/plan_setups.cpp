#include "sim/plan_search/plan_setups.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include <tbb/parallel_for.h>

#include "models/ground/error.hpp"
#include "schedules/catalogue/registry.hpp"
#include "sim/plan_search/bounds/copy_bounds.hpp"
#include "sim/plan_search/bounds/packing_bounds.hpp"
#include "sim/plan_search/bounds/plan_bounds.hpp"
#include "sim/plan_search/bounds/steady_bounds.hpp"
#include "sim/plan_search/copy_shares.hpp"
#include "sim/plan_search/plan_estimates.hpp"
#include "sim/plan_search/prices/network_prices.hpp"

namespace plumb {
namespace {

/// A group of schedules that are bounded together.
struct Group {
  std::int32_t number = 0;
  std::vector<ScheduleVariant> variants{};
  ScheduleKinds kinds{};
  bool asynchronous = false;
};

std::vector<Group> groups_of(const std::vector<ScheduleVariant>& variants) {
  std::map<std::int32_t, Group> groups;
  for (const ScheduleVariant& variant : variants) {
    Group& group = groups[variant.group()];
    group.number = variant.group();
    group.variants.push_back(variant);
    group.asynchronous = group.asynchronous || variant.asynchronous;
  }
  std::vector<Group> list;
  for (auto& [number, group] : groups) {
    group.kinds = kinds_of(group.variants);
    list.push_back(std::move(group));
  }
  return list;
}

/// Returns the prices by which a group is bounded: of passes as pairs leave them where it has pairs.
std::shared_ptr<const LayerPrices> prices_for(const std::shared_ptr<const AloneAndPaired>& both, bool overlaps) {
  return {both, overlaps ? &both->paired : &both->alone};
}

/// Returns the places that the devices of a cluster make up.
std::int32_t all_places(const PlanJob& job, const Parallelism& parallelism) {
  if (parallelism.has_unlike_tensor()) return static_cast<std::int32_t>(parallelism.tensor_by_place.size());
  return static_cast<std::int32_t>(job.num_devices / parallelism.devices_per_stage());
}

/// Returns the length of the longest pipeline that may be asked for; 0: there are too few devices, or the batch does
/// not divide.
std::int32_t longest_pipeline(const PlanJob& job, const PlanRanges& ranges, const Parallelism& parallelism) {
  if (job.batch % (parallelism.data * parallelism.microbatch_size) != 0) return 0;
  const std::int64_t room =
      std::min<std::int64_t>(all_places(job, parallelism), static_cast<std::int64_t>(job.num_layers));
  std::int32_t longest = 0;
  for (const std::int32_t places : ranges.places) {
    if (places <= room) longest = std::max(longest, places);
  }
  return longest;
}

/// Balanced stages, filled and drained by the schedule that does it best and probably fits, and an update.
Ticks filled_estimate(const PlanSetup& setup, const ProbableRoom& room, const std::vector<ScheduleVariant>& variants,
                      ScheduleShapes& shapes) {
  const LayerPrices& prices = *setup.prices;
  const std::int32_t copies = setup.copies;
  const double turns = static_cast<double>(setup.microbatches) / copies / setup.places;
  double fill = std::numeric_limits<double>::max();
  double unlikely = fill;
  double again = 1;
  for (const ScheduleVariant& variant : variants) {
    if (!setup.tries(variant)) continue;
    const ScheduleShape shape = shapes.of(variant, turns, prices.whole);
    double& least = room.fits(setup.places, shape.kept) ? fill : unlikely;
    if (shape.fill >= least) continue;
    least = shape.fill;
    again = room.again(setup.places, shape.kept);
  }
  const std::vector<double> speed = largest_of(prices.speed, static_cast<std::size_t>(setup.places * copies));
  const double together = std::accumulate(speed.begin(), speed.end(), 0.0);
  const bool fits = fill != std::numeric_limits<double>::max();
  const auto turn = static_cast<double>(prices.whole.f + least_backward(prices.whole)) / together * again;
  const double filling = std::min(fits ? fill : unlikely, 1e6) * (setup.places - 1) * turn * copies;
  const double ticks = turn * static_cast<double>(setup.microbatches) + filling +
                       static_cast<double>(prices.whole.u) * copies / together;
  return std::max(setup.bound, static_cast<Ticks>(fits ? ticks : kUnlikely * ticks));
}

/// What one choice of degrees adds.
struct OfChoice {
  bool tried = false;
  std::string refused{};
  std::vector<PlanSetup> setups{};
  std::optional<UndividedSetup> undivided{};
  std::optional<ScoredPlan> least_missing{};
  std::int64_t combinations = 0;
  std::int64_t without_memory = 0;
};

/// What setups are made of.
struct SetupSpace {
  const PlanJob& job;
  const PlanRanges& ranges;
  const std::vector<Group>& groups;
  ScheduleShapes& shapes;
};

void add_missing(const PlanSetup& setup, std::int64_t missing, OfChoice& of) {
  if (of.least_missing && of.least_missing->excess_bytes <= missing) return;
  of.least_missing = ScoredPlan{.excess_bytes = missing};
  of.least_missing->plan.parallelism = *setup.parallelism;
  of.least_missing->plan.places = setup.places;
  of.least_missing->plan.microbatches = setup.microbatches;
}

/// Returns the numbers of copies of a pipeline that a setup of so many places has: one, and where places are unlike
/// those that are asked for.
std::vector<std::int32_t> copies_of(const SetupSpace& space, const PlanSetup& setup) {
  std::vector<std::int32_t> copies{1};
  const Parallelism& parallelism = *setup.parallelism;
  if (is_fitted(parallelism) || parallelism.has_unlike_tensor() || !has_unlike_places(*setup.prices)) return copies;
  const std::int64_t most = std::min<std::int64_t>(std::ssize(setup.prices->speed) / setup.places, setup.microbatches);
  std::ranges::copy_if(space.ranges.copies, std::back_inserter(copies),
                       [most](std::int32_t count) { return count > 1 && count <= most; });
  return copies;
}

Ticks first_bound(const PlanSetup& setup, const std::vector<ScheduleVariant>& variants) {
  const LayerPrices& prices = *setup.prices;
  if (setup.asynchronous) return steady_setup_bound(prices, setup.places, setup.microbatches);
  if (setup.copies == 1) return setup_bound(prices, setup.places, setup.microbatches, setup.kinds);
  std::int32_t stages = 1;
  for (const ScheduleVariant& variant : variants) stages = std::max(stages, variant.stages(setup.places));
  return copies_setup_bound(prices, {setup.places, setup.copies, setup.microbatches, stages}, setup.kinds);
}

void add_group(const SetupSpace& space, const Group& group, const ProbableRoom& room, PlanSetup setup, OfChoice& of) {
  setup.group = group.number;
  setup.kinds = group.kinds;
  setup.asynchronous = group.asynchronous;
  if (setup.asynchronous && setup.copies > 1) return;
  setup.bound = first_bound(setup, group.variants);
  setup.estimate = filled_estimate(setup, room, group.variants, space.shapes);
  of.setups.push_back(std::move(setup));
}

OfChoice setups_of(const SetupSpace& space, const Parallelism& parallelism, std::int32_t longest) {
  OfChoice of{.tried = true};
  const PlanJob& job = space.job;
  std::shared_ptr<const AloneAndPaired> prices;
  try {
    const std::int32_t places = all_places(job, parallelism);
    prices = std::make_shared<const AloneAndPaired>(both_layer_prices(job, parallelism, places));
  } catch (const Error& error) {
    of.refused = error.what();
    return of;
  }
  const ProbableRoom alone(prices->alone);
  const ProbableRoom paired(prices->paired);
  if (parallelism.data == 1 && !parallelism.has_unlike_tensor()) {
    of.undivided = UndividedSetup{parallelism, job.batch / parallelism.microbatch_size, prices_for(prices, false)};
  }
  for (const std::int32_t places : space.ranges.places) {
    if (places > longest || (places == 1 && parallelism.has_unlike_tensor())) continue;
    PlanSetup setup{.parallelism = &parallelism, .places = places, .job = &job};
    setup.microbatches = job.batch / (parallelism.data * parallelism.microbatch_size);
    setup.prices = prices_for(prices, false);
    const std::vector<std::int32_t> copies = copies_of(space, setup);
    of.combinations += std::ssize(copies);
    if (const std::int64_t missing = missing_bytes(prices->alone, places); missing > 0) {
      of.without_memory += std::ssize(copies);
      add_missing(setup, missing, of);
      continue;
    }
    for (const std::int32_t count : copies) {
      setup.copies = count;
      for (const Group& group : space.groups) {
        setup.prices = prices_for(prices, group.kinds.overlaps);
        add_group(space, group, group.kinds.overlaps ? paired : alone, setup, of);
      }
    }
  }
  return of;
}

/// Choices of degrees with pipelines, by their number in the ranges: first those that can use every device, and among
/// these unlike ones early, so that a search that is cut short has seen some of all kinds.
std::vector<std::size_t> order_of_pricing(const PlanJob& job, const PlanRanges& ranges,
                                          const std::vector<std::int32_t>& longest) {
  std::vector<std::size_t> possible;
  for (std::size_t at = 0; at < longest.size(); ++at) {
    if (longest[at] > 0) possible.push_back(at);
  }
  std::size_t step = std::max<std::size_t>(1, possible.size() * 618 / 1000);
  while (std::gcd(step, possible.size()) > 1) ++step;
  std::vector<std::size_t> order;
  for (std::size_t k = 0; k < possible.size(); ++k) order.push_back(possible[k * step % possible.size()]);
  std::stable_partition(order.begin(), order.end(), [&](std::size_t at) {
    const Parallelism& parallelism = ranges.parallelisms[at];
    if (parallelism.has_unlike_tensor()) return longest[at] == all_places(job, parallelism);
    return longest[at] * parallelism.devices_per_stage() == job.num_devices;
  });
  return order;
}

/// Blocks of choices are priced together, each by one thread, until there is no time left.
std::vector<OfChoice> price_choices(const SetupSpace& space, const PlanEffort& effort,
                                    const std::vector<std::int32_t>& longest) {
  constexpr std::size_t kBlock = 64;
  const std::function<bool()>& stop = effort.stop_pricing ? effort.stop_pricing : effort.stop;
  const std::vector<std::size_t> order = order_of_pricing(space.job, space.ranges, longest);
  std::vector<OfChoice> choices(longest.size());
  for (std::size_t begin = 0; begin < order.size(); begin += kBlock) {
    if (begin > 0 && stop && stop()) break;
    tbb::parallel_for(begin, std::min(order.size(), begin + kBlock), [&](std::size_t k) {
      choices[order[k]] = setups_of(space, space.ranges.parallelisms[order[k]], longest[order[k]]);
    });
    if (stop && effort.trials) effort.trials(0, {});
  }
  return choices;
}

}  // namespace

Ticks refined_bound(const PlanSetup& setup, const std::vector<ScheduleVariant>& variants, KnownPassCounts& passes,
                    Ticks enough) {
  if (setup.asynchronous || setup.bound >= enough) return setup.bound;
  const auto packed = [&](const ScheduleKinds& kinds, std::span<const PassCounts> counts) {
    return packing_bound(*setup.prices, setup.places, setup.turns(), kinds, {enough, counts});
  };
  const Ticks together = std::max(setup.bound, packed(setup.kinds, {}));
  if (together >= enough || !setup.kinds.overlaps || setup.copies > 1) return together;
  Ticks least = enough;
  for (const ScheduleVariant& variant : variants) {
    if (!setup.tries(variant)) continue;
    try {
      const auto counts = passes.of(variant, setup.places, setup.microbatches);
      if (!counts) return together;
      least = std::min(least, packed(kinds_of({variant}), *counts));
    } catch (const Error&) {  // this size is none of the schedule's, so it has no plans here
    }
    if (least <= together) return together;
  }
  return least;
}

Ticks placed_bound(const PlanSetup& setup, const ScheduleVariant& variant, const PlacesAndShares& at,
                   const PricedStages& stages) {
  if (variant.overlaps) {
    ScheduleVariant alone = variant;
    alone.overlaps = false;
    return placed_bound(setup, alone, at, without_communication(stages));
  }
  const std::vector<std::int32_t> order(at.order.begin(), at.order.end());
  if (setup.copies == 1) {
    const auto bound = variant.asynchronous ? steady_placement_bound : placement_bound;
    return bound(stages, placement_of(variant, order), setup.microbatches);
  }
  const CopiesPlacement copies = placement_of_copies(variant, order, setup.copies);
  if (copies.empty()) return 0;
  const std::vector<std::int64_t> shares = at.shares.empty()
                                               ? least_bounded_shares(stages, copies, setup.microbatches)
                                               : std::vector<std::int64_t>(at.shares.begin(), at.shares.end());
  return copies_bound(stages, copies, shares);
}

void KnownSizes::check(const PlanSetup& setup, const std::vector<ScheduleVariant>& variants) {
  if (setup.copies > 1) return;  // that depends on the shares
  std::optional<std::string> why;
  for (const ScheduleVariant& variant : variants) {
    if (!setup.tries(variant)) continue;
    if (variant.for_costs || variant.asynchronous) return;
    why = why_not(variant, setup.places, setup.microbatches);
    if (!why) return;
  }
  if (why) throw Error(*why);
}

std::optional<std::string> KnownSizes::why_not(const ScheduleVariant& variant, std::int32_t places,
                                               std::int64_t microbatches) {
  const Key key{variant.spec, variant.chunks, places, microbatches};
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
  }
  std::optional<std::string> why;
  try {
    generate(variant.spec->name, {.num_devices = places, .num_microbatches = microbatches, .chunks = variant.chunks});
  } catch (const Error& error) {
    why = error.what();
  }
  const std::lock_guard lock(mutex_);
  return known_.try_emplace(key, std::move(why)).first->second;
}

bool PlanSetup::tries(const ScheduleVariant& variant) const {
  if (parallelism->has_unlike_tensor() && !has_known_places(variant)) return false;
  return variant.group() == group && variant.is_tried(places, prices->load.size()) &&
         (!job->runs || job->runs(variant.spec->name, *parallelism, places, microbatches));
}

StageChoices PlanSetup::choices_for(const ScheduleVariant& variant, const std::vector<std::int32_t>& order) const {
  StageChoices choices;
  if (!parallelism->has_unlike_tensor()) return choices;
  const auto length = static_cast<std::size_t>(places);
  for (std::size_t s = 0; s < static_cast<std::size_t>(variant.stages(places)); ++s) {
    choices.places.push_back(order[positions_of(variant, s, length).front()]);
  }
  return choices;
}

PlanSetups plan_setups(const PlanJob& job, const PlanRanges& ranges, const std::vector<ScheduleVariant>& variants,
                       ScheduleShapes& shapes, const PlanEffort& effort) {
  std::vector<std::int32_t> longest;
  for (const Parallelism& parallelism : ranges.parallelisms) {
    longest.push_back(longest_pipeline(job, ranges, parallelism));
  }
  const std::vector<Group> groups = groups_of(variants);
  std::vector<OfChoice> choices = price_choices({job, ranges, groups, shapes}, effort, longest);
  PlanSetups all;
  std::size_t count = 0;
  for (const OfChoice& of : choices) count += of.setups.size();
  all.setups.reserve(count);
  for (std::size_t at = 0; at < choices.size(); ++at) {
    OfChoice& of = choices[at];
    all.unpriced += longest[at] > 0 && !of.tried ? 1 : 0;
    if (all.refused.empty()) all.refused = std::move(of.refused);
    if (of.undivided) all.undivided.push_back(*std::move(of.undivided));
    all.combinations += of.combinations;
    all.without_memory += of.without_memory;
    const auto& least = of.least_missing;
    if (least && (!all.least_missing || least->excess_bytes < all.least_missing->excess_bytes)) {
      all.least_missing = least;
    }
    std::ranges::move(of.setups, std::back_inserter(all.setups));
    of = {};
  }
  return all;
}

WaitingSetups::WaitingSetups(const std::vector<PlanSetup>& setups) {
  std::int64_t number = 0;
  for (std::size_t at = 0; at < setups.size(); ++at) {
    waiting_.push_back({std::max(setups[at].estimate, setups[at].bound), ++number, at});
  }
  const auto turn = [](const WaitingSetup& setup) { return std::pair(setup.estimate, setup.number); };
  std::ranges::sort(waiting_, std::ranges::greater(), turn);
  Ticks least = std::numeric_limits<Ticks>::max();
  for (WaitingSetup& setup : waiting_) setup.least_bound = least = std::min(least, setups[setup.setup].bound);
}

}  // namespace plumb
