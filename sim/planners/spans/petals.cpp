#include <algorithm>

#include "models/ground/error.hpp"
#include "sim/planners/methods.hpp"
#include "sim/planners/spans/swarm_of_devices.hpp"

namespace plumb {

/// Petals (Borzunov et al., NeurIPS 2023): servers that hold a span of blocks join where throughput is worst. In
/// forward mode: what a swarm gives is the throughput of its slowest block.
Plan plan_petals(const PlanProblem& problem) {
  problem.stop.check();
  const Swarm swarm = swarm_of(problem);
  const double least = *std::ranges::min_element(swarm.throughput);
  if (least <= 0) throw Error("petals: the devices together do not hold all layers");
  Plan plan;
  plan.claimed_ns = 1e9 / least;
  plan.states = static_cast<std::int64_t>(swarm.throughput.size());
  plan.stages = stages_of_swarm(problem, swarm);
  return plan;
}

}  // namespace plumb
