#include "schedules/catalogue/searched/order_problem.hpp"

namespace plumb {
namespace {

/// What every kind of the chain follows: the same kind on the device it comes from, or where the chain turns, the kind
/// before it on its own device.
void connect(OrderProblem& problem, Ticks comm) {
  for (std::int32_t d = 0; d < problem.num_devices; ++d) {
    for (std::int32_t kind = 0; kind < problem.kinds; ++kind) {
      OrderProblem::Pass& pass = problem.passes[static_cast<std::size_t>(d * problem.kinds + kind)];
      const std::int32_t before = kind % 2 == 0 ? d - 1 : d + 1;
      if (problem.is_weight(kind)) {
        pass.device = d;
        pass.kind = kind - problem.kinds / 3;
      } else if (before >= 0 && before < problem.num_devices) {
        pass.device = before;
        pass.kind = kind;
        pass.delay = comm;
      } else if (kind > 0) {
        pass.device = d;
        pass.kind = kind - 1;
      }
    }
  }
}

OrderProblem::Pass costs_of(const PassCost& cost) { return {.time = cost.time, .stash = cost.stash}; }

}  // namespace

Ticks OrderProblem::work(std::int32_t device) const {
  Ticks sum = 0;
  for (std::int32_t kind = 0; kind < kinds; ++kind) sum += pass(device, kind).time;
  return sum;
}

OrderProblem straight_problem(const PassCosts& costs, std::span<const std::int64_t> limits,
                              std::int32_t num_microbatches) {
  OrderProblem problem{.num_devices = static_cast<std::int32_t>(costs.stages.size()),
                       .num_microbatches = num_microbatches,
                       .kinds = 3,
                       .passes = {},
                       .limits = {limits.begin(), limits.end()}};
  for (const StagePasses& stage : costs.stages) {
    for (const PassCost* cost : {&stage.f, &stage.i, &stage.w}) problem.passes.push_back(costs_of(*cost));
  }
  connect(problem, costs.comm);
  return problem;
}

OrderProblem v_problem(const PassCosts& costs, std::int32_t num_microbatches) {
  const std::size_t devices = costs.stages.size() / 2;
  OrderProblem problem{.num_devices = static_cast<std::int32_t>(devices),
                       .num_microbatches = num_microbatches,
                       .kinds = 6,
                       .passes = {},
                       .limits = std::vector<std::int64_t>(devices, costs.limit)};
  for (std::size_t d = 0; d < devices; ++d) {
    const StagePasses& first = costs.stages[d];
    const StagePasses& second = costs.stages[2 * devices - 1 - d];
    for (const PassCost* cost : {&first.f, &second.f, &second.i, &first.i, &second.w, &first.w}) {
      problem.passes.push_back(costs_of(*cost));
    }
  }
  connect(problem, costs.comm);
  return problem;
}

}  // namespace plumb
