#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "sim/plan_search/bounds/packing_bounds.hpp"
#include "sim/plan_search/bounds/plan_bounds.hpp"
#include "sim/plan_search/bounds/steady_bounds.hpp"
#include "sim/plan_search/placed_schedule.hpp"
#include "sim/plan_search/plan_cuts.hpp"
#include "sim/plan_search/plan_setups.hpp"
#include "sim/plan_search/prices/network_prices.hpp"
#include "sim/plan_search/schedule_variants.hpp"

namespace plumb::testing {

/// Every order of `length` of `places` places.
inline std::vector<std::vector<std::int32_t>> every_order(std::int32_t places, std::int32_t length) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(places));
  std::iota(all.begin(), all.end(), 0);
  std::vector<std::vector<std::int32_t>> orders;
  do {
    std::vector<std::int32_t> order(all.begin(), all.begin() + length);
    if (orders.empty() || orders.back() != order) orders.push_back(order);
  } while (std::next_permutation(all.begin(), all.end()));
  return orders;
}

/// `plan` as simulated; nothing where there is no such schedule.
inline std::optional<SimulatedPlan> simulated_if_possible(const PipelinePlan& plan, const PlanJob& job) {
  try {
    return simulate_plan(plan, job.price);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Simulates `plan` and checks all bounds on it. Its step, 0 where it does not fit or cannot be.
inline std::int64_t checked_step(const PlanJob& job, const PipelinePlan& plan, const LayerPrices& prices,
                                 const ScheduleVariant& variant) {
  const std::optional<SimulatedPlan> simulated = simulated_if_possible(plan, job);
  if (!simulated) return 0;
  const ScoredPlan& score = simulated->score;
  const auto of_setup = variant.asynchronous ? steady_setup_bound(prices, plan.places, plan.microbatches)
                                             : setup_bound(prices, plan.places, plan.microbatches, kinds_of({variant}));
  if (!variant.asynchronous && score.fits()) {
    CHECK(score.step_ns >= packing_bound(prices, plan.places, plan.microbatches, kinds_of({variant})));
  }
  const auto of_placement = variant.asynchronous ? steady_placement_bound : placement_bound;
  CHECK((!score.fits() || score.step_ns >= of_setup));
  CHECK(score.step_ns >= of_placement(simulated->stages, simulated->schedule.placement, plan.microbatches));
  CHECK(score.excess_bytes >= std::ranges::max(excess_by_place(simulated->stages, simulated->schedule)));
  CHECK(score.excess_bytes >= missing_bytes(prices, plan.places));
  return score.fits() ? score.step_ns : 0;
}

/// Tries every plan; checks the bounds on the way. The fastest that fits, 0 when none does.
inline std::int64_t fastest_of_all(const PlanJob& job, const PlanRanges& ranges) {
  std::int64_t fastest = 0;
  const std::vector<ScheduleVariant> variants = schedule_variants(ranges);
  const bool overlaps = kinds_of(variants).overlaps;
  for (const Parallelism& parallelism : ranges.parallelisms) {
    const bool unlike = parallelism.has_unlike_tensor();
    const auto room = unlike ? static_cast<std::int32_t>(parallelism.tensor_by_place.size())
                             : static_cast<std::int32_t>(job.num_devices / parallelism.devices_per_stage());
    const std::int64_t together = parallelism.data * parallelism.microbatch_size;
    if (room == 0 || job.batch % together != 0) continue;
    const LayerPrices prices = layer_prices(job, parallelism, room, overlaps);
    PipelinePlan plan{.parallelism = parallelism, .microbatches = job.batch / together};
    for (const ScheduleVariant& variant : variants) {
      if (unlike && !has_known_places(variant)) continue;
      plan.schedule = variant.spec->name;
      plan.chunks = variant.chunks;
      for (const std::int32_t places : ranges.places) {
        if (places > room || !variant.is_tried(places, job.num_layers)) continue;
        plan.places = places;
        for (Partition& partition : all_cuts(job.num_layers, static_cast<std::size_t>(variant.stages(places)))) {
          plan.partition = std::move(partition);
          for (std::vector<std::int32_t>& order : every_order(room, places)) {
            if (job.in_order && (!std::ranges::is_sorted(order) || order.back() + 1 != places)) continue;
            plan.order = std::move(order);
            plan.choices = PlanSetup{.parallelism = &parallelism, .places = places}.choices_for(variant, plan.order);
            const std::int64_t step = checked_step(job, plan, prices, variant);
            if (step > 0 && (fastest == 0 || step < fastest)) fastest = step;
          }
        }
      }
    }
  }
  return fastest;
}

}  // namespace plumb::testing
