#include <algorithm>
#include <limits>

#include "models/ground/error.hpp"
#include "sim/planners/chain_stages.hpp"
#include "sim/planners/numbers.hpp"
#include "sim/planners/planner.hpp"

namespace plumb {
namespace {

constexpr double kRecomputeFactor = 4.0 / 3.0;  // as in the paper

struct Shape {
  std::int32_t width = 1;
  std::int32_t depth = 1;
  bool recompute = false;
};

/// Stages of as many layers as can be alike.
std::size_t bound(const LayerChain& chain, std::int32_t depth, std::int32_t stage) {
  return chain.size() * static_cast<std::size_t>(stage) / static_cast<std::size_t>(depth);
}

double stage_ns(const PlanProblem& problem, const LayerChain& chain, const Shape& shape, std::int32_t s) {
  const std::size_t begin = bound(chain, shape.depth, s);
  const std::size_t end = bound(chain, shape.depth, s + 1);
  double time = static_cast<double>(chain.total(begin, end)) * (shape.recompute ? kRecomputeFactor : 1);
  if (shape.depth > 1) {
    const auto bytes = static_cast<double>(chain.cut_bytes[begin] + chain.cut_bytes[end]);
    time += 2e9 * bytes / problem.bytes_per_s_between(shape.depth);
  }
  const double between_syncs =
      std::max(1.0, static_cast<double>(problem.microbatches) / static_cast<double>(shape.width));
  const double sync = ring_ns(
      static_cast<double>(chain.parameters(begin, end)), shape.width,
      problem.bytes_per_s_between(shape.width < problem.levels.front().count ? shape.width : problem.num_devices()));
  return std::max(time, sync / between_syncs);
}

/// 2 |W| / d, the activations of d microbatches (or of one, recomputed), and the inputs of d.
bool fits(const PlanProblem& problem, const LayerChain& chain, const Shape& shape) {
  if (problem.memory_bytes == 0) return true;
  const auto depth = static_cast<double>(shape.depth);
  const auto weights = static_cast<double>(chain.parameter_bytes.back());
  const auto kept = static_cast<double>(chain.activation_bytes.back());
  const auto input = static_cast<double>(*std::max_element(chain.cut_bytes.begin(), chain.cut_bytes.end()));
  const double bytes = 2 * weights / depth + (shape.recompute ? kept / depth : kept) + depth * input;
  return bytes <= static_cast<double>(problem.memory_bytes);
}

/// PipeDream-2BW's planner (Narayanan et al., ICML 2021): all widths and depths that use every device, stages of
/// equally many layers, with and without recompute. Minimised is the time per microbatch of the whole job,
///
///     max over stages of max( T_comp + 2 |A_in + A_out| / B_depth, T_sync / m ) / width
Plan plan_pipedream_2bw(const PlanProblem& problem) {
  const LayerChain chain = chain_of(problem.network.layers);
  Plan plan;
  plan.claimed_ns = kNever;
  for (std::int32_t depth = 1; depth <= problem.num_devices(); ++depth) {
    if (problem.num_devices() % depth != 0 || static_cast<std::size_t>(depth) > chain.size()) continue;
    for (const bool recompute : {false, true}) {
      const Shape shape{problem.num_devices() / depth, depth, recompute};
      ++plan.states;
      if (!fits(problem, chain, shape)) continue;
      double slowest = 0;
      for (std::int32_t s = 0; s < depth; ++s) slowest = std::max(slowest, stage_ns(problem, chain, shape, s));
      if (slowest / shape.width >= plan.claimed_ns) continue;
      plan.claimed_ns = plan.lower_bound_ns = slowest / shape.width;
      plan.pipelines = shape.width;
      plan.microbatches = std::max<std::int64_t>(1, problem.microbatches / shape.width);
      plan.stages.clear();
      for (std::int32_t s = 0; s < depth; ++s) {
        plan.stages.push_back(chain_stage(chain, bound(chain, depth, s), bound(chain, depth, s + 1), 1));
        plan.stages.back().recompute = recompute;
        plan.stages.back().load_ns = stage_ns(problem, chain, shape, s);
      }
    }
  }
  if (plan.stages.empty()) throw Error("pipedream-2bw: no width and depth fit into the memory of the devices");
  return plan;
}

}  // namespace

Planner pipedream_2bw_planner() {
  return {.name = "pipedream-2bw",
          .paper = "Narayanan et al., ICML 2021",
          .year = 2021,
          .minimises = "time per microbatch of the job over width and depth",
          .uncertain = "the size of a microbatch is that of the profile; weights are synchronised by a ring",
          .plan = plan_pipedream_2bw};
}

}  // namespace plumb
