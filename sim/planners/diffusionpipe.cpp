#include <algorithm>
#include <string>

#include "models/ground/error.hpp"
#include "sim/planners/chain_stages.hpp"
#include "sim/planners/numbers.hpp"
#include "sim/planners/ordered_stages.hpp"
#include "sim/planners/planner.hpp"

namespace plumb {

namespace {

/// DiffusionPipe's partition of the trained backbone (MLSys 2024): for every number of stages S the cut over devices in
/// a row, stages replicated, whose slowest stage or link T_max is fastest; minimised is
///
///     (M + S - 1) T_max + the longest all-reduce of a stage
///
/// The remark gives the idle time that the frozen layers may fill; filling it is the schedule `diffusionpipe`.
Plan plan_diffusionpipe(const PlanProblem& problem) {
  const LayerChain chain = chain_of(problem.network.layers);
  const std::int32_t devices = problem.num_devices();
  const OrderedCosts costs{
      .stage =
          [&](const DeviceRun& run) {
            return static_cast<double>(chain.total(run.begin, run.end)) / run.count / speed_of(problem, run);
          },
      .link =
          [&](std::size_t layer, std::int32_t device) {
            return 2e9 * static_cast<double>(chain.cut_bytes[layer]) / bytes_per_s_before(problem, device);
          },
      .most_devices = devices,
      .stop = problem.stop};
  const auto reduce = [&](const OrderedCut& cut) {
    double longest = 0;
    for (const DeviceRun& run : cut.stages) {
      longest = std::max(longest, ring_ns(static_cast<double>(chain.parameters(run.begin, run.end)), run.count,
                                          bytes_per_s_inside(problem, run)));
    }
    return longest;
  };
  const auto m = static_cast<double>(problem.microbatches);
  Plan plan;
  plan.claimed_ns = kNever;
  for (const OrderedCut& cut : cuts_by_stages(chain.size(), devices, at(devices), costs)) {
    ++plan.states;
    if (cut.stages.empty()) continue;
    const double bound = (m + static_cast<double>(cut.stages.size()) - 1) * cut.largest + reduce(cut);
    if (bound >= plan.claimed_ns) continue;
    plan.claimed_ns = bound;
    plan.stages = plan_stages(chain, cut, costs);
  }
  plan.microbatches = problem.microbatches;
  if (!problem.speed.empty()) return plan;
  const double busy = m * static_cast<double>(chain.total(0, chain.size()));
  plan.remarks.push_back("idle for frozen layers: " + std::to_string((devices * plan.claimed_ns - busy) / 1e6) +
                         " device-ms of a step");
  return plan;
}

}  // namespace

Planner diffusionpipe_planner() {
  return {.name = "diffusionpipe",
          .paper = "Tian et al., MLSys 2024",
          .year = 2024,
          .minimises = "(M + S - 1) slowest stage or link + all-reduce",
          .uncertain =
              "the constants of its bound are unconfirmed; devices are in the order of the cluster; bubbles "
              "are filled by the schedule of its name",
          .asked_up_to = {.layers = 200, .devices = 16},
          .plan = plan_diffusionpipe};
}

}  // namespace plumb
