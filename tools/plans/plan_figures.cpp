#include "tools/plans/plan_figures.hpp"

#include "models/stages/network_costs.hpp"
#include "tools/tables/job_fit.hpp"

namespace plumb {

PlanSpeed plan_speed(const PlanQuestion& question, const ScoredPlan& score) {
  if (is_profiled(question.network) || score.step_ns <= 0) return {};
  const double samples = static_cast<double>(question.job.batch);
  const double flops = samples * model_flops(question.network, {1, question.network.sequence});
  const auto devices = static_cast<double>(score.plan.num_devices());
  const double each = flops / devices / (static_cast<double>(score.step_ns) * 1e-9);
  return {.tflops_per_device = each / 1e12, .utilization = each / question.cluster.devices.front().flops_per_s};
}

std::optional<MemoryNeed> plan_need(const PlanQuestion& question, const ScoredPlan& score) {
  if (is_profiled(question.network)) return std::nullopt;
  const auto first = static_cast<std::size_t>(score.worst_place * score.plan.parallelism.devices_per_stage());
  const std::int64_t own = question.cluster.devices[first].memory_bytes;
  const std::int64_t limit = question.limits.memory_bytes > 0 ? question.limits.memory_bytes : own;
  return memory_need(score.peak_bytes, question.used_rates(), limit);
}

}  // namespace plumb
