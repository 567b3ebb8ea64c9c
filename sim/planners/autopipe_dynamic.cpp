#include <algorithm>
#include <functional>

#include "sim/planners/chain_stages.hpp"
#include "sim/planners/numbers.hpp"
#include "sim/planners/ordered_stages.hpp"
#include "sim/planners/planner.hpp"

namespace plumb {

namespace {

/// AutoPipe for shared clusters (ICPP 2024): a running pipeline, here the cut that is balanced for devices alike, is
/// cut anew for the devices as they are, one layer between neighbours at a time, as long as that makes the slowest
/// stage or link faster.
Plan plan_autopipe_dynamic(const PlanProblem& problem) {
  const LayerChain chain = chain_of(problem.network.layers);
  const std::size_t stages = std::min(chain.size(), at(problem.num_devices()));
  std::vector<std::size_t> bounds = balanced_bounds(chain, static_cast<std::int32_t>(stages));
  const auto stage_ns = [&](const std::vector<std::size_t>& cut, std::size_t s) {
    const auto device = static_cast<std::int32_t>(s);
    const double compute = static_cast<double>(chain.total(cut[s], cut[s + 1])) / problem.speed_of(device);
    if (s == 0) return compute;
    return std::max(compute, 2e9 * static_cast<double>(chain.cut_bytes[cut[s]]) / bytes_per_s_before(problem, device));
  };
  // By all stages, slowest first: a move that helps one of several that are equally slow is a step, too.
  const auto times = [&](const std::vector<std::size_t>& cut) {
    std::vector<double> all;
    for (std::size_t s = 0; s < stages; ++s) all.push_back(stage_ns(cut, s));
    std::sort(all.begin(), all.end(), std::greater<>());
    return all;
  };
  Plan plan;
  std::vector<double> now = times(bounds);
  for (bool moved = true; moved; ++plan.states) {
    problem.stop.check();
    moved = false;
    std::vector<std::size_t> best = bounds;
    for (std::size_t border = 1; border < stages; ++border) {
      for (const bool to_front : {true, false}) {
        std::vector<std::size_t> other = bounds;
        to_front ? ++other[border] : --other[border];
        if (other[border] == other[border - 1] || other[border] == other[border + 1]) continue;
        std::vector<double> then = times(other);
        if (then >= now) continue;
        now = std::move(then);
        best = std::move(other);
        moved = true;
      }
    }
    bounds = std::move(best);
  }
  plan.claimed_ns = now.front();
  plan.microbatches = problem.microbatches;
  for (std::size_t s = 0; s < stages; ++s) {
    plan.stages.push_back(chain_stage(chain, bounds[s], bounds[s + 1], 1));
    plan.stages.back().load_ns = stage_ns(bounds, s);
    plan.stages.back().devices = {static_cast<std::int32_t>(s)};
  }
  return plan;
}

}  // namespace

Planner autopipe_dynamic_planner() {
  return {.name = "autopipe-dynamic",
          .paper = "AutoPipe, ICPP 2024",
          .year = 2024,
          .minimises = "time of the slowest stage or link on the devices as they are, layer by layer",
          .uncertain = "its moves are chosen by a trained policy, here the best one is; what moving costs is left out",
          .plan = plan_autopipe_dynamic};
}

}  // namespace plumb
