#include <algorithm>
#include <utility>

#include "models/ground/error.hpp"
#include "sim/planners/planner.hpp"
#include "sim/planners/spans/swarm_of_devices.hpp"

namespace plumb {

namespace {

/// Petals (Borzunov et al., NeurIPS 2023): servers that hold a span of blocks join where throughput is worst. In
/// forward mode: what a swarm gives is the throughput of its slowest block. The released program divides a server's
/// memory by the size of a block, all blocks of its networks being alike, and takes as many; here layers are unlike, so
/// that their bytes are added up, and fewer are taken where that gives more.
Plan plan_petals(const PlanProblem& problem) {
  problem.stop.check();
  Swarm swarm;
  double least = 0;
  for (Swarm& one : swarms_of(problem)) {
    const double slowest = *std::ranges::min_element(one.throughput);
    if (slowest <= least) continue;
    least = slowest;
    swarm = std::move(one);
  }
  if (least <= 0) throw Error("petals: the devices together do not hold all layers");
  Plan plan;
  plan.claimed_ns = 1e9 / least;
  plan.states = static_cast<std::int64_t>(swarm.throughput.size());
  plan.stages = stages_of_swarm(problem, swarm);
  return plan;
}

}  // namespace

Planner petals_planner() {
  return {.name = "petals",
          .paper = "Borzunov et al., NeurIPS 2023",
          .year = 2023,
          .minimises = "time per microbatch of the slowest layer in a swarm of servers, forward only",
          .options = kDeviceBlocksTable,
          .uncertain =
              "servers join in the order of the devices and do not move later (they do in the rule petals "
              "of campaigns); layers count as equally long; the program divides memory by the size of "
              "equal blocks, here bytes of unlike layers are added up, and a server holds fewer than fit "
              "where that gives more",
          .plan = plan_petals};
}

}  // namespace plumb
