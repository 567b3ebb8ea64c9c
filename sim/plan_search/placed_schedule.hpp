#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedules/document/schedule.hpp"
#include "schedules/versions/delays.hpp"
#include "sim/plan_search/pipeline_plan.hpp"
#include "sim/plan_search/plan_job.hpp"
#include "sim/prediction/predict.hpp"

namespace plumb {

/// Returns the schedule of `plan` in positions of the pipeline. If it never flushes, it has as many updates as its step
/// is measured over (steady_bounds.hpp). Schedules that are searched are made for `stages`. Throws `Error` when the
/// schedule cannot have this size or cannot be scored; `named` means that the user asked for it by name.
Schedule plan_schedule(const PipelinePlan& plan, const PricedStages& stages, bool named);

/// `schedule` with position k of the pipeline on place `order[k]` of the cluster. Unused places have empty lists.
Schedule placed(Schedule schedule, std::span<const std::int32_t> order);

/// Returns how the system of `stages.runtime` runs a schedule: what it makes of the actions and their costs, and of
/// messages.
PreparedRun placed_run(Schedule placed_schedule, const PricedStages& stages);

/// The figures of a plan's simulation.
struct PlanRun {
  ScoredPlan score{};
  std::vector<std::int64_t> excess_bytes{};  ///< by place of the cluster: above what it can use
};

/// Simulates the plan in a summary. Throws as `plan_schedule` and `simulate_summary` do.
PlanRun run_placed_plan(const PipelinePlan& plan, const PricedStages& stages, const Schedule& placed_schedule);

/// A plan with its prices, its schedule and its figures.
struct SimulatedPlan {
  PricedStages stages{};
  Schedule schedule{};  ///< on the places of the cluster
  ScoredPlan score{};
};

/// Prices and simulates `plan`. Throws `Error` for what cannot be.
SimulatedPlan simulate_plan(const PipelinePlan& plan, const StagePricing& price);

/// Returns the schedule of `plan`, placed, over as few updates as show its steady state: what a page shows and what
/// delays are counted on. The same as that of `simulate_plan` where it flushes.
Schedule shown_schedule(const PipelinePlan& plan, const PricedStages& stages);

/// Returns how old the weights are that `plan` computes with; empty where it flushes.
std::vector<StageDelays> plan_delays(const PipelinePlan& plan, const StagePricing& price);

}  // namespace plumb
