#pragma once

#include "sim/plan_search/pipeline_plan.hpp"
#include "sim/plan_search/plan_job.hpp"

namespace plumb {

/// Searches everything that `ranges` allow for the pipeline with the shortest step that fits: degrees, microbatch,
/// length of the pipeline, order of unlike devices, cut, schedule. Every plan is scored by `simulate_summary`.
///
/// Best first: parts of the space wait in a queue by a proved lower bound (plan_bounds.hpp), whole setups by an
/// estimate; 64 at a time are opened or simulated in parallel, until no part is left whose bound is below the best
/// step. A setup with few cuts and orders
/// (`PlanEffort::most_exact`) is opened into all of them; of others balanced cuts are taken, and cuts near the best
/// plan so far, and its bound stays in the answer's. So `PlanAnswer::gap` is 0 only when the best plan is proved
/// optimal. `seeds` are simulated first: what other planners say. With several schedules, searches of "1f1b" and "zb-v"
/// alone come before that of all (narrow_searches.hpp).
///
/// Same input, same answer, whatever the number of threads; only where `PlanEffort::stop` ends the search does it
/// depend on the machine. Throws `Error` when no setup is possible at all.
PlanAnswer search_plan(const PlanJob& job, const PlanRanges& ranges, const PlanEffort& effort,
                       const std::vector<PipelinePlan>& seeds = {});

}  // namespace plumb
