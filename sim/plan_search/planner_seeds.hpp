#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "models/graphs/layer_chain.hpp"
#include "sim/plan_search/pipeline_plan.hpp"
#include "sim/plan_search/plan_job.hpp"
#include "sim/planners/plan.hpp"
#include "sim/planners/problem.hpp"

namespace plumb {

/// The answer of a published planner for a job, as a plan that the simulator can score.
struct PlannerSeed {
  std::string method;
  PipelinePlan plan{};
};

/// `plan`, made for the layers of `chain`, on the places of a cluster: 1F1B, or over replicated stages `dapple` with
/// microbatches in turn. Copies of a whole pipeline are copies of its stages. Where all stages have the same number of
/// copies there are two ways to lay them out: stages together, or pipelines together. Holders of the only stage that
/// take shares of their own are copies with these shares. `base` has everything else.
///
/// Empty where the answer is no such plan: stages that are no runs of the chain, that run on a CPU, or whose copies are
/// themselves divided. A planner's recompute is left to `base`.
std::vector<PipelinePlan> expressed(const Plan& plan, const LayerChain& chain, const PipelinePlan& base);

/// Returns what planners are asked about `job` on one way to spread stages: its layers with the times and bytes that
/// they have alone in a stage, links and speeds of the places, `microbatches` per update.
PlanProblem planner_problem(const PlanJob& job, const Parallelism& parallelism);

/// Answers of the planners of sim/planners that `ranges` names, with their default options, to `job` for every choice
/// of `ranges` without data ranks, in a fixed order, as far as `ranges` allow them. Equal copies of all stages count as
/// data ranks. Planners that cannot handle the job, whose programs grow too fast for its size, or that have no answer
/// when `stop` says so are left out.
std::vector<PlannerSeed> planner_seeds(const PlanJob& job, const PlanRanges& ranges,
                                       const std::function<bool()>& stop = {});

/// By planner: the step of the fastest of its plans among `seeds` that fits; 0: none does.
std::map<std::string, std::int64_t> planner_steps(const std::vector<PlannerSeed>& seeds, const StagePricing& price);

}  // namespace plumb
