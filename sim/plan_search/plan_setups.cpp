#include "sim/plan_search/plan_setups.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include <tbb/parallel_for.h>

#include "models/ground/error.hpp"
#include "schedules/catalogue/registry.hpp"
#include "sim/plan_search/bounds/packing_bounds.hpp"
#include "sim/plan_search/bounds/plan_bounds.hpp"
#include "sim/plan_search/bounds/steady_bounds.hpp"
#include "sim/plan_search/plan_estimates.hpp"

namespace plumb {
namespace {

struct Priced {
  std::shared_ptr<const AloneAndPaired> prices;
  std::string refused;
};

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

/// The prices by which a group is bounded: of passes as pairs leave them where it has pairs.
std::shared_ptr<const LayerPrices> prices_for(const std::shared_ptr<const AloneAndPaired>& both, bool overlaps) {
  return {both, overlaps ? &both->paired : &both->alone};
}

/// The length of the longest pipeline that may be asked for; 0: there are too few devices, or the batch does not
/// divide.
std::int32_t longest_pipeline(const PlanJob& job, const PlanRanges& ranges, const Parallelism& parallelism) {
  if (job.batch % (parallelism.data * parallelism.microbatch_size) != 0) return 0;
  const std::int64_t room = std::min<std::int64_t>(job.num_devices / parallelism.devices_per_stage(),
                                                   static_cast<std::int64_t>(job.num_layers));
  std::int32_t longest = 0;
  for (const std::int32_t places : ranges.places) {
    if (places <= room) longest = std::max(longest, places);
  }
  return longest;
}

/// Balanced stages, filled and drained by the schedule that does it best and probably fits, and an update.
Ticks filled_estimate(const PlanSetup& setup, const std::vector<ScheduleVariant>& variants, ScheduleShapes& shapes) {
  const LayerPrices& prices = *setup.prices;
  const ProbableRoom room(prices);
  const double turns = static_cast<double>(setup.microbatches) / setup.places;
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
  const std::vector<double> speed = largest_of(prices.speed, static_cast<std::size_t>(setup.places));
  const double together = std::accumulate(speed.begin(), speed.end(), 0.0);
  const bool fits = fill != std::numeric_limits<double>::max();
  const auto turn = static_cast<double>(prices.whole.f + least_backward(prices.whole)) / together * again;
  const double filling = std::min(fits ? fill : unlikely, 1e6) * (setup.places - 1) * turn;
  const double ticks =
      turn * static_cast<double>(setup.microbatches) + filling + static_cast<double>(prices.whole.u) / together;
  return std::max(setup.bound, static_cast<Ticks>(fits ? ticks : kUnlikely * ticks));
}

}  // namespace

Ticks refined_bound(const PlanSetup& setup, const std::vector<ScheduleVariant>& variants, KnownPassCounts& passes,
                    Ticks enough) {
  if (setup.asynchronous || setup.bound >= enough) return setup.bound;
  const auto packed = [&](const ScheduleKinds& kinds, std::span<const PassCounts> counts) {
    return packing_bound(*setup.prices, setup.places, setup.microbatches, kinds, {enough, counts});
  };
  const Ticks together = std::max(setup.bound, packed(setup.kinds, {}));
  if (together >= enough || !setup.kinds.overlaps) return together;
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

void check_size(const PlanSetup& setup, const std::vector<ScheduleVariant>& variants) {
  std::optional<Error> why;
  for (const ScheduleVariant& variant : variants) {
    if (!setup.tries(variant)) continue;
    if (variant.for_costs || variant.asynchronous) return;
    try {
      generate(variant.spec->name,
               {.num_devices = setup.places, .num_microbatches = setup.microbatches, .chunks = variant.chunks});
      return;
    } catch (const Error& error) {
      why = error;
    }
  }
  if (why) throw *why;
}

bool PlanSetup::tries(const ScheduleVariant& variant) const {
  return variant.group() == group && variant.is_tried(places, prices->load.size()) &&
         (!job->runs || job->runs(variant.spec->name, places, microbatches));
}

std::optional<ScoredPlan> least_missing(const std::vector<PlanSetup>& setups) {
  std::optional<ScoredPlan> least;
  for (const PlanSetup& setup : setups) {
    if (setup.missing_bytes == 0 || (least && least->excess_bytes <= setup.missing_bytes)) continue;
    least = ScoredPlan{.excess_bytes = setup.missing_bytes};
    least->plan.parallelism = setup.parallelism;
    least->plan.places = setup.places;
    least->plan.microbatches = setup.microbatches;
  }
  return least;
}

PlanSetups plan_setups(const PlanJob& job, const PlanRanges& ranges, const std::vector<ScheduleVariant>& variants,
                       ScheduleShapes& shapes, const std::function<bool()>& stop) {
  std::vector<Priced> priced(ranges.parallelisms.size());
  const std::vector<Group> groups = groups_of(variants);
  tbb::parallel_for(std::size_t{0}, priced.size(), [&](std::size_t at) {
    const Parallelism& parallelism = ranges.parallelisms[at];
    if (longest_pipeline(job, ranges, parallelism) == 0) return;
    try {
      const auto places = static_cast<std::int32_t>(job.num_devices / parallelism.devices_per_stage());
      priced[at].prices = std::make_shared<const AloneAndPaired>(both_layer_prices(job, parallelism, places));
    } catch (const Error& error) {
      priced[at].refused = error.what();
    }
  });
  PlanSetups all;
  std::size_t combinations = 0;
  for (std::size_t at = 0; at < priced.size(); ++at) {
    const std::int32_t longest = priced[at].prices ? longest_pipeline(job, ranges, ranges.parallelisms[at]) : 0;
    combinations += static_cast<std::size_t>(
        std::ranges::count_if(ranges.places, [longest](std::int32_t places) { return places <= longest; }));
  }
  all.setups.reserve(combinations * groups.size());
  for (std::size_t at = 0; at < priced.size(); ++at) {
    if (all.refused.empty()) all.refused = priced[at].refused;
    if (!priced[at].prices) continue;
    const Parallelism& parallelism = ranges.parallelisms[at];
    if (parallelism.data == 1) {
      all.undivided.push_back(
          {parallelism, job.batch / parallelism.microbatch_size, prices_for(priced[at].prices, false)});
    }
    const std::int32_t longest = longest_pipeline(job, ranges, parallelism);
    for (const std::int32_t places : ranges.places) {
      if (places > longest) continue;
      PlanSetup setup{.parallelism = parallelism, .places = places, .job = &job};
      setup.microbatches = job.batch / (parallelism.data * parallelism.microbatch_size);
      setup.missing_bytes = missing_bytes(priced[at].prices->alone, places);
      ++all.combinations;
      all.without_memory += setup.missing_bytes > 0 ? 1 : 0;
      for (const Group& group : groups) {
        setup.group = group.number;
        setup.kinds = group.kinds;
        setup.asynchronous = group.asynchronous;
        setup.prices = prices_for(priced[at].prices, group.kinds.overlaps);
        all.setups.push_back(setup);
      }
    }
  }
  tbb::parallel_for(std::size_t{0}, all.setups.size(), [&](std::size_t at) {
    PlanSetup& setup = all.setups[at];
    if (setup.missing_bytes > 0) return;
    const Group& group = *std::ranges::find(groups, setup.group, &Group::number);
    setup.bound = group.asynchronous ? steady_setup_bound(*setup.prices, setup.places, setup.microbatches)
                                     : setup_bound(*setup.prices, setup.places, setup.microbatches, group.kinds);
    if (!stop || !stop()) setup.estimate = filled_estimate(setup, group.variants, shapes);
  });
  return all;
}

WaitingSetups::WaitingSetups(const std::vector<PlanSetup>& setups) {
  std::int64_t number = 0;
  for (std::size_t at = 0; at < setups.size(); ++at) {
    if (setups[at].missing_bytes != 0) continue;
    waiting_.push_back({std::max(setups[at].estimate, setups[at].bound), ++number, at});
  }
  const auto turn = [](const WaitingSetup& setup) { return std::pair(setup.estimate, setup.number); };
  std::ranges::sort(waiting_, std::ranges::greater(), turn);
  Ticks least = std::numeric_limits<Ticks>::max();
  for (WaitingSetup& setup : waiting_) setup.least_bound = least = std::min(least, setups[setup.setup].bound);
}

}  // namespace plumb
