#pragma once

#include "sim/plan_search/placed_schedule.hpp"

namespace plumb {

/// Simulates `plan`. What its parallelism leaves to stages (`is_fitted`) and the plan does not say yet is chosen first:
/// of every stage as few layers that run again, layers that ZeRO 3 shards, and stashes that leave for the host, as let
/// its place keep what the schedule has there. More of them are added where a place lacks memory, always of what costs
/// the least time for a byte, and simulated, until the plan fits; then what is not needed is taken back. Where several
/// kinds of choices are left, each set of them is tried alone, too, and the fastest plan is taken. A policy for all
/// stages is told as such: nothing of all, or all layers. Where not even everything lets it fit, so says the score.
///
/// In a fixed order longer passes make no step shorter, so with one stage on every place and one kind of choice hardly
/// any other counts are better (a layer more than needed may be taken where layers are not alike); this is not proved.
/// `named` as for `plan_schedule`; throws what that throws.
SimulatedPlan fitted_plan(const PipelinePlan& plan, const StagePricing& price, bool named);

/// Returns what another process has to be told of it.
PlanTrial told_of(const SimulatedPlan& fitted);

/// Gives `plan` what was chosen for it; nothing where it leaves nothing to its stages.
void take_choices(const PlanTrial& trial, PipelinePlan& plan);

/// Returns whether other choices of stages than those of `chosen`, which are not tried, may be faster, or fit: with the
/// least of everything that `asked` leaves to stages nothing is, unless sharded layers spare an update more than they
/// cost passes.
bool is_open(const Parallelism& asked, const PipelinePlan& chosen);

}  // namespace plumb
