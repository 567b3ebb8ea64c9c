#include "sim/plan_search/plan_setups.hpp"

#include <algorithm>
#include <utility>

#include <tbb/parallel_for.h>

#include "models/error.hpp"
#include "sim/plan_search/plan_bounds.hpp"

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

/// (m + p - 1) (F + B) / p and an update, on places as fast as they are on average.
Ticks filled_estimate(const PlanSetup& setup) {
  const StageTimes& whole = setup.prices->whole;
  double together = 0;
  for (const double speed : setup.prices->speed) together += speed;
  const double mean = together / static_cast<double>(setup.prices->speed.size());
  const auto turns = static_cast<double>(setup.microbatches + setup.places - 1);
  const double ticks = static_cast<double>(whole.f + least_backward(whole)) * turns + static_cast<double>(whole.u);
  return std::max(setup.bound, static_cast<Ticks>(ticks / (mean * setup.places)));
}

}  // namespace

PlanSetups plan_setups(const PlanJob& job, const PlanRanges& ranges) {
  std::vector<Priced> priced(ranges.parallelisms.size());
  tbb::parallel_for(std::size_t{0}, priced.size(), [&](std::size_t at) {
    const Parallelism& parallelism = ranges.parallelisms[at];
    if (longest_pipeline(job, ranges, parallelism) == 0) return;
    try {
      const auto places = static_cast<std::int32_t>(job.num_devices / parallelism.devices_per_stage());
      priced[at].prices = std::make_shared<const LayerPrices>(layer_prices(job, parallelism, places));
    } catch (const Error& error) {
      priced[at].refused = error.what();
    }
  });
  PlanSetups all;
  for (std::size_t at = 0; at < priced.size(); ++at) {
    if (all.refused.empty()) all.refused = priced[at].refused;
    if (!priced[at].prices) continue;
    const Parallelism& parallelism = ranges.parallelisms[at];
    for (const std::int32_t places : ranges.places) {
      if (places > longest_pipeline(job, ranges, parallelism)) continue;
      PlanSetup setup{.parallelism = parallelism, .places = places, .prices = priced[at].prices};
      setup.microbatches = job.batch / (parallelism.data * parallelism.microbatch_size);
      setup.bound = setup_bound(*setup.prices, places, setup.microbatches);
      setup.estimate = filled_estimate(setup);
      setup.missing_bytes = missing_bytes(*setup.prices, places);
      all.setups.push_back(std::move(setup));
    }
  }
  return all;
}

}  // namespace plumb
