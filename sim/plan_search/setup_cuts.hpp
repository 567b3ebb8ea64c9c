#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/stages/partition.hpp"
#include "schedules/document/schedule.hpp"
#include "sim/plan_search/plan_estimates.hpp"
#include "sim/plan_search/plan_setups.hpp"
#include "sim/plan_search/schedule_variants.hpp"

namespace plumb {

/// A cut of a setup, and the places at its positions.
struct SetupCut {
  std::vector<std::int32_t> order{};
  Partition partition{};
  Ticks estimate = 0;  ///< with the schedule that seems best for it
};

struct SetupCuts {
  std::vector<SetupCut> cuts{};
  bool exact = true;       ///< all cuts and orders that could differ are there
  bool few_shares = true;  ///< and so few that of each all shares of copies can be tried
};

/// Returns an estimate of the step of a plan of `setup` from the prices of single layers; several times as much where
/// the plan probably does not fit.
Ticks cut_estimate(const PlanSetup& setup, const ScheduleVariant& variant, const SetupCut& cut, ScheduleShapes& shapes);

/// Returns the balanced cut for `variant` with so many microbatches in flight on every stage; 0 everywhere: memory does
/// not matter. Of the memory of each place its `spare_bytes` stay free (empty: none). Stages of one place are balanced
/// together, as far as moving single layers gets.
std::optional<Partition> balanced_stages(const PlanSetup& setup, const ScheduleVariant& variant,
                                         const std::vector<std::int32_t>& order,
                                         const std::vector<std::int64_t>& in_flight,
                                         const std::vector<std::int64_t>& spare_bytes = {});

/// Lists, for each number of stages that `variants` have, all cuts and orders where these are at most `most`, balanced
/// cuts in a few orders otherwise.
SetupCuts cuts_of(const PlanSetup& setup, const std::vector<ScheduleVariant>& variants, std::int64_t most,
                  ScheduleShapes& shapes);

/// Cuts near that of a plan with stages of `costs` (`near_cuts`) that may be faster: those that make the slowest place
/// faster, or leave it and make the next slowest ones faster. A cut that does neither gives every place as much to do.
/// A stage that loses layers is seen as if all that is left of it had room without running again, where stages choose
/// that. With fewer microbatches than two for each place a step is mostly filling and draining, which any cut may make
/// shorter: all of them.
std::vector<Partition> promising_cuts(const PlanSetup& setup, const ScheduleVariant& variant, const SetupCut& here,
                                      const StageCosts& costs);

/// Returns the balanced cut for `variant` with the microbatches that `schedule` has in flight, at least one on every
/// stage.
std::optional<Partition> roomier_stages(const PlanSetup& setup, const ScheduleVariant& variant,
                                        const std::vector<std::int32_t>& order, const Schedule& schedule,
                                        const std::vector<std::int64_t>& spare_bytes);

/// Adds to `spare_bytes` what the fullest place of `tight` lacks. False, where it lacks nothing or a tenth of its
/// memory.
bool add_spare(const PlanSetup& setup, const ScoredPlan& tight, std::vector<std::int64_t>& spare_bytes);

}  // namespace plumb
