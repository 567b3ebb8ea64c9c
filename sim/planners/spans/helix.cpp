#include <algorithm>
#include <utility>
#include <vector>

#include "models/graphs/layer_chain.hpp"
#include "models/ground/error.hpp"
#include "sim/planners/planner.hpp"
#include "sim/planners/spans/span_flow.hpp"

namespace plumb {

namespace {

/// The largest flow of microbatches per second through the devices of `problem`.
double flow_of(const PlanProblem& problem, const LayerChain& chain, const Swarm& swarm) {
  std::vector<FlowServer> servers;
  for (std::size_t device = 0; device < swarm.spans.size(); ++device) {
    const BlockSpan& span = swarm.spans[device];
    if (span.length() == 0) continue;
    const auto ns =
        static_cast<double>(chain.forward(static_cast<std::size_t>(span.begin), static_cast<std::size_t>(span.end)));
    servers.push_back({span, 1e9 / std::max(1.0, ns) * problem.speed_of(static_cast<std::int32_t>(device))});
  }
  const std::int64_t largest = *std::ranges::max_element(chain.cut_bytes);
  const double link_rate =
      problem.bytes_per_s_between(problem.num_devices()) / static_cast<double>(std::max<std::int64_t>(1, largest));
  return span_flow(static_cast<std::int32_t>(chain.size()), servers, link_rate);
}

/// Helix (Mei et al., ASPLOS 2025): nodes of unlike speed that hold spans of layers, and requests routed by the largest
/// flow from the first layer to the last; a node passes on what its span takes, a link what its bandwidth takes. The
/// placement is the best of those that servers of Petals take as they join, with more and fewer layers; its own, by a
/// mixed-integer program, is not made.
Plan plan_helix(const PlanProblem& problem) {
  problem.stop.check();
  const LayerChain chain = chain_of(problem.network.layers);
  Swarm swarm;
  double flow = 0;
  for (Swarm& one : swarms_of(problem)) {
    problem.stop.check();
    const double rate = flow_of(problem, chain, one);
    if (rate <= flow) continue;
    flow = rate;
    swarm = std::move(one);
  }
  if (flow <= 0) throw Error("helix: no way through the devices holds all layers");
  Plan plan;
  plan.claimed_ns = 1e9 / flow;
  plan.lower_bound_ns = 0;
  plan.states = problem.num_devices();
  plan.stages = stages_of_swarm(problem, swarm);
  return plan;
}

}  // namespace

Planner helix_planner() {
  return {.name = "helix",
          .paper = "Mei et al., ASPLOS 2025",
          .year = 2025,
          .minimises = "time per microbatch of the largest flow through spans of layers, forward only",
          .options = kDeviceBlocksTable,
          .uncertain =
              "its mixed-integer program over placements is not made: the placement is the best of those "
              "of petals with more and fewer layers; a node's rate is that of its whole span",
          .plan = plan_helix};
}

}  // namespace plumb
