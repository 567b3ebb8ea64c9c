#pragma once

#include "sim/plan_search/pipeline_plan.hpp"
#include "sim/plan_search/plan_job.hpp"

namespace plumb {

/// Searches everything that `ranges` allow for the pipeline with the shortest step that fits into memory: degrees of
/// parallelism, microbatch size, length of the pipeline, order of unlike devices, cut, schedule. Every plan is scored
/// by `simulate_summary`.
///
/// Parts of the space (setups, their cuts, plans) are opened in the order of an estimate (setup_cuts.hpp) and dropped
/// where a proved lower bound (plan_bounds.hpp) is not below the best step; some 32 at a time are opened or simulated
/// in parallel, until no such part is left. A setup with few cuts and orders (`PlanEffort::most_exact`) is opened into
/// all of them; of other setups the search takes balanced cuts and cuts near good plans, and their bound stays part of
/// the answer's bound. So `PlanAnswer::gap` is 0 only when the best plan is proved optimal. `seeds`, the plans of other
/// planners, are simulated first.
///
/// Same input, same answer, whatever the number of threads; the answer depends on the
/// machine only where `PlanEffort::stop` ends the search. Throws `Error` when no setup is possible at all.
PlanAnswer search_plan(const PlanJob& job, const PlanRanges& ranges, const PlanEffort& effort,
                       const std::vector<PipelinePlan>& seeds = {});

/// Returns the Pareto-optimal plans, including those on fewer devices, which a search for the shortest step leaves out.
/// Repeats the search for every number of devices of a stage with every length of the pipeline, with
/// `effort.most_simulations` each, and returns the plans that none of these and none of `known` beats (plan_front.hpp).
std::vector<ScoredPlan> search_front(const PlanJob& job, const PlanRanges& ranges, const PlanEffort& effort,
                                     const std::vector<ScoredPlan>& known);

}  // namespace plumb
