#include <algorithm>

#include "sim/planners/chain_stages.hpp"
#include "sim/planners/planner.hpp"

namespace plumb {

namespace {

/// AutoPipe (CLUSTER 2022): from the balanced cut, layers are moved from the slowest stage to a neighbour while the
/// simulated step gets shorter.
Plan plan_autopipe(const PlanProblem& problem) {
  const LayerChain chain = chain_of(problem.network.layers);
  const auto stages = std::min(static_cast<std::size_t>(problem.num_devices()), chain.size());
  std::vector<std::size_t> bounds = balanced_bounds(chain, static_cast<std::int32_t>(stages));
  const auto step = [&](const std::vector<std::size_t>& cut) {
    return one_f_one_b_step_ns(pipeline_of(chain, cut, problem, 1, false), problem.microbatches);
  };
  const auto slowest_of = [&](const std::vector<std::size_t>& cut) {
    std::size_t slowest = 0;
    for (std::size_t s = 1; s < stages; ++s) {
      if (chain.total(cut[s], cut[s + 1]) > chain.total(cut[slowest], cut[slowest + 1])) slowest = s;
    }
    return slowest;
  };
  Plan plan;
  plan.claimed_ns = step(bounds);
  for (bool moved = true; moved;) {
    problem.stop.check();
    moved = false;
    const std::size_t slowest = slowest_of(bounds);
    if (bounds[slowest + 1] - bounds[slowest] < 2) break;
    std::vector<std::size_t> best = bounds;
    for (const bool to_front : {true, false}) {
      if (to_front ? slowest == 0 : slowest + 1 == stages) continue;
      std::vector<std::size_t> other = bounds;
      to_front ? ++other[slowest] : --other[slowest + 1];
      ++plan.states;
      if (const double time = step(other); time < plan.claimed_ns) {
        plan.claimed_ns = time;
        best = std::move(other);
        moved = true;
      }
    }
    bounds = std::move(best);
  }
  plan.microbatches = problem.microbatches;
  for (std::size_t s = 0; s < stages; ++s) {
    plan.stages.push_back(chain_stage(chain, bounds[s], bounds[s + 1], 1));
    plan.stages.back().load_ns = static_cast<double>(chain.total(bounds[s], bounds[s + 1]));
  }
  return plan;
}

}  // namespace

Planner autopipe_planner() {
  return {.name = "autopipe",
          .paper = "Liu et al., CLUSTER 2022",
          .year = 2022,
          .minimises = "simulated 1F1B step",
          .uncertain = "layers are not split into halves; the step does not slice microbatches",
          .plan = plan_autopipe};
}

}  // namespace plumb
