#include <algorithm>
#include <array>
#include <limits>

#include "models/ground/error.hpp"
#include "sim/planners/chain_stages.hpp"
#include "sim/planners/planner.hpp"

namespace plumb {

namespace {

constexpr std::array kVarunaPlanOptions{NamedOption{"segments", count_form("N", 1, kMostPlannerNumber),
                                                    "twice the devices", "segments that the network is cut into"}};

/// Varuna (EuroSys 2022): the network is cut at cut-points into segments; a pipeline has as many stages as divide the
/// number of segments, with as many copies as devices allow; each choice is simulated, everything recomputed, with its
/// all-reduce. Option `segments` (default: twice the devices).
Plan plan_varuna(const PlanProblem& problem) {
  const LayerChain chain = chain_of(problem.network.layers);
  const OptionReader options(kVarunaPlanOptions, problem.options);
  const auto asked = static_cast<std::size_t>(options.number("segments", 2.0 * problem.num_devices()));
  const std::size_t segments = std::min(asked, chain.size());
  const std::vector<std::size_t> cut_points = balanced_bounds(chain, static_cast<std::int32_t>(segments));
  Plan best;
  best.claimed_ns = std::numeric_limits<double>::infinity();
  for (std::size_t stages = 1; stages <= std::min(segments, static_cast<std::size_t>(problem.num_devices()));
       ++stages) {
    if (segments % stages != 0) continue;
    std::vector<std::size_t> bounds;
    for (std::size_t s = 0; s <= stages; ++s) bounds.push_back(cut_points[s * (segments / stages)]);
    Plan plan;
    plan.pipelines = problem.num_devices() / static_cast<std::int32_t>(stages);
    plan.microbatches = (problem.microbatches + plan.pipelines - 1) / plan.pipelines;
    const PipelineStages pipeline = pipeline_of(chain, bounds, problem, plan.pipelines, true);
    plan.claimed_ns = one_f_one_b_step_ns(pipeline, plan.microbatches);
    plan.states = best.states + 1;
    for (std::size_t s = 0; s < stages; ++s) {
      plan.stages.push_back(chain_stage(chain, bounds[s], bounds[s + 1], 1));
      plan.stages.back().recompute = true;
      plan.stages.back().load_ns = pipeline.stages[2 * s].forward_ns + pipeline.stages[2 * s].backward_ns;
    }
    if (plan.claimed_ns < best.claimed_ns) {
      best = std::move(plan);
    } else {
      best.states = plan.states;
    }
  }
  return best;
}

}  // namespace

Planner varuna_planner() {
  return {.name = "varuna",
          .paper = "Athlur et al., EuroSys 2022",
          .year = 2022,
          .minimises = "simulated step with recompute",
          .options = kVarunaPlanOptions,
          .uncertain = "1F1B is simulated in place of its run-time rule",
          .plan = plan_varuna};
}

}  // namespace plumb
