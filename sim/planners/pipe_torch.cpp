#include <algorithm>

#include "models/ground/error.hpp"
#include "sim/planners/numbers.hpp"
#include "sim/planners/ordered_stages.hpp"
#include "sim/planners/pipedream_scores.hpp"
#include "sim/planners/planner.hpp"

namespace plumb {

namespace {

/// Pipe-torch (Zhan and Zhang, CBD 2019): PipeDream's dynamic program on devices in a row, of which a stage takes
/// neighbours; every transfer is weighed with the link where its cut stands, synchronisation with the slowest link
/// between a stage's devices, compute with the slowest of them.
Plan plan_pipe_torch(const PlanProblem& problem) {
  const LayerChain chain = chain_of(problem.network.layers);
  const OrderedCosts costs{
      .stage =
          [&](const DeviceRun& run) {
            const double inside = static_cast<double>(chain.total(run.begin, run.end)) / speed_of(problem, run);
            return pipedream_stage_ns(inside, chain.parameters(run.begin, run.end), run.count,
                                      bytes_per_s_inside(problem, run));
          },
      .link =
          [&](std::size_t layer, std::int32_t device) {
            return 2e9 * static_cast<double>(chain.cut_bytes[layer]) / bytes_per_s_before(problem, device);
          },
      .most_devices = problem.num_devices(),
      .stop = problem.stop};
  const OrderedCut cut = best_cut(chain.size(), problem.num_devices(), costs);
  Plan plan;
  plan.claimed_ns = plan.lower_bound_ns = cut.largest;
  plan.microbatches = problem.microbatches;
  plan.states = static_cast<std::int64_t>(chain.size()) * problem.num_devices();
  plan.stages = plan_stages(chain, cut, costs);
  return plan;
}

}  // namespace

Planner pipe_torch_planner() {
  return {.name = "pipe-torch",
          .paper = "Zhan and Zhang, CBD 2019",
          .year = 2019,
          .minimises = "time of the slowest stage or link, each link and device as fast as it is",
          .uncertain =
              "only that it weighs links in a dynamic program like PipeDream's is certain; devices stand in "
              "the order of the cluster",
          .asked_up_to = {.layers = 500, .devices = 64},
          .plan = plan_pipe_torch};
}

}  // namespace plumb
