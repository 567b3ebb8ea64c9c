#include "sim/plan_search/plan_setups.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include <tbb/parallel_for.h>

#include "models/ground/error.hpp"
#include "sim/plan_search/plan_bounds.hpp"
#include "sim/plan_search/plan_estimates.hpp"
#include "sim/plan_search/steady_bounds.hpp"

namespace plumb {
namespace {

struct Priced {
  std::shared_ptr<const LayerPrices> prices;
  std::string refused;
};

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
  const double turns = static_cast<double>(setup.microbatches) / setup.places;
  double fill = std::numeric_limits<double>::max();
  double unlikely = fill;
  for (const ScheduleVariant& variant : variants) {
    if (!setup.tries(variant)) continue;
    const ScheduleShape shape = shapes.of(variant, turns, prices.whole);
    double& least = has_probably_room(prices, setup.places, shape.kept) ? fill : unlikely;
    least = std::min(least, shape.fill);
  }
  std::vector<double> speed = prices.speed;
  std::sort(speed.begin(), speed.end(), std::greater<>());
  speed.resize(static_cast<std::size_t>(setup.places));
  const double together = std::accumulate(speed.begin(), speed.end(), 0.0);
  const bool fits = fill != std::numeric_limits<double>::max();
  const auto turn = static_cast<double>(prices.whole.f + least_backward(prices.whole)) / together;
  const double filling = std::min(fits ? fill : unlikely, 1e6) * (setup.places - 1) * turn;
  const double ticks =
      turn * static_cast<double>(setup.microbatches) + filling + static_cast<double>(prices.whole.u) / together;
  return std::max(setup.bound, static_cast<Ticks>(fits ? ticks : kUnlikely * ticks));
}

}  // namespace

bool PlanSetup::tries(const ScheduleVariant& variant) const {
  return variant.is_tried(places, prices->load.size()) &&
         (!job->runs || job->runs(variant.spec->name, places, microbatches));
}

PlanSetups plan_setups(const PlanJob& job, const PlanRanges& ranges, const std::vector<ScheduleVariant>& variants,
                       ScheduleShapes& shapes, const std::function<bool()>& stop) {
  std::vector<Priced> priced(ranges.parallelisms.size());
  const ScheduleKinds kinds = kinds_of(variants);
  tbb::parallel_for(std::size_t{0}, priced.size(), [&](std::size_t at) {
    const Parallelism& parallelism = ranges.parallelisms[at];
    if (longest_pipeline(job, ranges, parallelism) == 0) return;
    try {
      const auto places = static_cast<std::int32_t>(job.num_devices / parallelism.devices_per_stage());
      priced[at].prices = std::make_shared<const LayerPrices>(layer_prices(job, parallelism, places, kinds.overlaps));
    } catch (const Error& error) {
      priced[at].refused = error.what();
    }
  });
  const bool asynchronous =
      std::any_of(variants.begin(), variants.end(), [](const ScheduleVariant& each) { return each.asynchronous; });
  PlanSetups all;
  for (std::size_t at = 0; at < priced.size(); ++at) {
    if (all.refused.empty()) all.refused = priced[at].refused;
    if (!priced[at].prices) continue;
    const Parallelism& parallelism = ranges.parallelisms[at];
    for (const std::int32_t places : ranges.places) {
      if (places > longest_pipeline(job, ranges, parallelism)) continue;
      PlanSetup setup{.parallelism = parallelism, .places = places, .prices = priced[at].prices, .job = &job};
      setup.microbatches = job.batch / (parallelism.data * parallelism.microbatch_size);
      setup.missing_bytes = missing_bytes(*setup.prices, places);
      all.setups.push_back(std::move(setup));
    }
  }
  tbb::parallel_for(std::size_t{0}, all.setups.size(), [&](std::size_t at) {
    PlanSetup& setup = all.setups[at];
    if (setup.missing_bytes > 0) return;
    setup.bound = asynchronous ? steady_setup_bound(*setup.prices, setup.places, setup.microbatches)
                               : setup_bound(*setup.prices, setup.places, setup.microbatches, kinds);
    if (!stop || !stop()) setup.estimate = filled_estimate(setup, variants, shapes);
  });
  return all;
}

}  // namespace plumb
