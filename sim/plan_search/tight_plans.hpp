#pragma once

#include <functional>

#include "sim/plan_search/pipeline_plan.hpp"

namespace plumb {

/// Joins two answers about one job: `sure`, whose plans leave room for the error of predicted memory, and `expected`,
/// whose plans leave none. The first plan is one that surely fits; where `expected` has a faster plan, that one is the
/// second. Bound and proof are those of `sure`. Where `sure` has no plan the answer is `expected`.
/// `fits` says whether a plan of `expected` leaves the room after all, which a search that was cut short may not know.
PlanAnswer with_expected(PlanAnswer sure, PlanAnswer expected, const std::function<bool(const ScoredPlan&)>& fits);

}  // namespace plumb
