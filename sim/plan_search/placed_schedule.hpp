#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "schedules/catalogue/registry.hpp"
#include "schedules/document/schedule.hpp"
#include "schedules/versions/delays.hpp"
#include "sim/plan_search/pipeline_plan.hpp"
#include "sim/plan_search/plan_job.hpp"

namespace plumb {

/// A schedule of the catalogue with a number of stages per place.
struct ScheduleVariant {
  const ScheduleSpec* spec = nullptr;
  std::int32_t chunks = 0;     ///< 0: its own number
  std::int32_t per_place = 1;  ///< stages of a place
  bool for_costs = false;      ///< searched or played for the costs of the stages
  bool asynchronous = false;   ///< never flushes: bounded by what steady_bounds.hpp proves
  bool sliced = false;         ///< may begin a part of a microbatch before the whole of it

  std::int32_t stages(std::int32_t places) const { return places * per_place; }
};

/// Variants that a search may use: the rows named, or else those that are not the same as another one, for training;
/// with `asynchronous` also those that never flush. Throws `Error` for names that are none.
std::vector<ScheduleVariant> schedule_variants(const std::vector<std::string>& names,
                                               const std::vector<std::int32_t>& chunks, bool asynchronous = false);

/// Placement of stages on places in `order`, by the name that the catalogue has for it; empty when that does not say.
std::vector<std::vector<std::vector<DeviceId>>> placement_of(const ScheduleVariant& variant,
                                                             const std::vector<std::int32_t>& order);

/// The schedule of `plan` in positions of the pipeline; of one that never flushes as many updates as its step is told
/// over (steady_bounds.hpp). Searched ones are made for `stages`. Throws `Error` when the
/// schedule cannot have this size, and for those that cannot be scored: `named` says that the user asked for it.
Schedule plan_schedule(const PipelinePlan& plan, const PricedStages& stages, bool named);

/// `schedule` with position k of the pipeline on place `order[k]` of the cluster. Places that are not used have nothing
/// to do.
Schedule placed(Schedule schedule, std::span<const std::int32_t> order);

/// The plan simulated, in a summary. Throws as `plan_schedule` and `simulate_summary` do.
ScoredPlan scored(const PipelinePlan& plan, const PricedStages& stages, const Schedule& placed_schedule);

/// A plan with everything that it implies.
struct SimulatedPlan {
  PricedStages stages{};
  Schedule schedule{};  ///< on the places of the cluster
  ScoredPlan score{};
};

/// Prices and simulates `plan`. Throws `Error` for what cannot be.
SimulatedPlan simulate_plan(const PipelinePlan& plan, const StagePricing& price);

/// The schedule of `plan`, placed, over as few updates as show its steady state: what a page shows and what delays are
/// counted on. The same as that of `simulate_plan` where it flushes.
Schedule shown_schedule(const PipelinePlan& plan, const PricedStages& stages);

/// How old the weights are that `plan` computes with; empty where it flushes.
std::vector<StageDelays> plan_delays(const PipelinePlan& plan, const StagePricing& price);

}  // namespace plumb
