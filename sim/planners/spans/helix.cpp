#include <algorithm>

#include "models/graphs/layer_chain.hpp"
#include "models/ground/error.hpp"
#include "sim/planners/methods.hpp"
#include "sim/planners/spans/span_flow.hpp"

namespace plumb {

/// Helix (Mei et al., ASPLOS 2025): nodes of unlike speed that hold spans of layers, and requests routed by the largest
/// flow from the first layer to the last; a node passes on what its span takes, a link what its bandwidth takes. The
/// placement is Petals'; its own, by a mixed-integer program, is not made.
Plan plan_helix(const PlanProblem& problem) {
  problem.stop.check();
  const LayerChain chain = chain_of(problem.network.layers);
  const Swarm swarm = swarm_of(problem);
  std::vector<FlowServer> servers;
  for (std::size_t device = 0; device < swarm.spans.size(); ++device) {
    const BlockSpan& span = swarm.spans[device];
    const auto ns =
        static_cast<double>(chain.forward(static_cast<std::size_t>(span.begin), static_cast<std::size_t>(span.end)));
    servers.push_back({span, 1e9 / std::max(1.0, ns) * problem.speed_of(static_cast<std::int32_t>(device))});
  }
  const std::int64_t largest = *std::ranges::max_element(chain.cut_bytes);
  const double link_rate =
      problem.bytes_per_s_between(problem.num_devices()) / static_cast<double>(std::max<std::int64_t>(1, largest));
  const double flow = span_flow(static_cast<std::int32_t>(chain.size()), servers, link_rate);
  if (flow <= 0) throw Error("helix: no way through the devices holds all layers");
  Plan plan;
  plan.claimed_ns = 1e9 / flow;
  plan.lower_bound_ns = 0;
  plan.states = static_cast<std::int64_t>(servers.size());
  plan.stages = stages_of_swarm(problem, swarm);
  return plan;
}

}  // namespace plumb
