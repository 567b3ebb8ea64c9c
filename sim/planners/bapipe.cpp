#include <algorithm>

#include "models/ground/error.hpp"
#include "sim/planners/chain_stages.hpp"
#include "sim/planners/numbers.hpp"
#include "sim/planners/ordered_stages.hpp"
#include "sim/planners/planner.hpp"

namespace plumb {
namespace {

/// Compute stages and transfers of a cut in which every stage has one device.
PipelineStages timed(const PlanProblem& problem, const LayerChain& chain, const OrderedCut& cut) {
  PipelineStages pipeline;
  for (const DeviceRun& run : cut.stages) {
    if (run.begin > 0) {
      const double transfer =
          1e9 * static_cast<double>(chain.cut_bytes[run.begin]) / bytes_per_s_before(problem, run.first);
      pipeline.stages.push_back({transfer, transfer, 0});
    }
    const double speed = speed_of(problem, run);
    pipeline.stages.push_back({static_cast<double>(chain.forward(run.begin, run.end)) / speed,
                               static_cast<double>(chain.backward(run.begin, run.end)) / speed, 0});
  }
  return pipeline;
}

/// BaPipe (Zhao et al., 2020): intra-batch pipelines of any length over devices in a row, one to a stage, balanced by
/// compute, links and memory (weights, gradients, and what 1F1B keeps); the lengths are compared by the time of a step.
Plan plan_bapipe(const PlanProblem& problem) {
  const LayerChain chain = chain_of(problem.network.layers);
  const std::int32_t devices = problem.num_devices();
  std::size_t stages = 0;  // of the length that is being balanced
  const OrderedCosts costs{
      .stage =
          [&](const DeviceRun& run) {
            const auto behind = static_cast<std::int64_t>(stages) - run.first;  // one device each: its position
            if (!fits_run(problem, chain, run, std::min(behind, problem.microbatches))) return kNever;
            return static_cast<double>(chain.total(run.begin, run.end)) / speed_of(problem, run);
          },
      .link =
          [&](std::size_t layer, std::int32_t device) {
            return 2e9 * static_cast<double>(chain.cut_bytes[layer]) / bytes_per_s_before(problem, device);
          },
      .most_devices = 1,
      .stop = problem.stop};
  Plan plan;
  plan.claimed_ns = kNever;
  for (stages = 1; stages <= std::min(chain.size(), at(devices)); ++stages) {
    const OrderedCut cut = cuts_by_stages(chain.size(), static_cast<std::int32_t>(stages), stages, costs).back();
    ++plan.states;
    if (cut.stages.empty()) continue;
    const double step = one_f_one_b_step_ns(timed(problem, chain, cut), problem.microbatches);
    if (step >= plan.claimed_ns) continue;
    plan.claimed_ns = step;
    plan.stages = plan_stages(chain, cut, costs);
  }
  if (plan.stages.empty()) throw Error("bapipe: no pipeline fits into the memory of the devices");
  plan.microbatches = problem.microbatches;
  return plan;
}

}  // namespace

Planner bapipe_planner() {
  return {.name = "bapipe",
          .paper = "Zhao et al., 2020",
          .year = 2020,
          .minimises = "1F1B step of pipelines balanced by compute, links and memory",
          .uncertain =
              "it is certain that compute, links and memory are balanced and pipelines of any length compared, "
              "but not how; devices are in the order of the cluster",
          .asked_up_to = {.layers = 200, .devices = 64},
          .plan = plan_bapipe};
}

}  // namespace plumb
