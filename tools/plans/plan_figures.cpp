#include "tools/plans/plan_figures.hpp"

#include "models/jobs/job_places.hpp"
#include "models/pricing/profiled_network.hpp"
#include "models/stages/network_costs.hpp"
#include "sim/simulate.hpp"
#include "tools/tables/job_fit.hpp"

namespace plumb {
namespace {

/// Microbatches of a schedule that is simulated once more, for what is alive at its peak.
constexpr std::int64_t kMostPeakMicrobatches = 4096;

}  // namespace

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
  const auto places = place_devices(question.cluster, score.plan.parallelism, score.worst_place + 1);
  const auto first = static_cast<std::size_t>(places.back().first);
  const std::int64_t own = question.cluster.devices[first].memory_bytes;
  const std::int64_t limit = question.limits.memory_bytes > 0 ? question.limits.memory_bytes : own;
  return memory_need(score.peak_bytes, question.used_rates(), limit);
}

std::string plan_largest(const PlanQuestion& question, const SimulatedPlan& plan) {
  if (is_profiled(question.network) || plan.schedule.num_microbatches > kMostPeakMicrobatches) return {};
  const PlacedRun run = placed_run(plan.schedule, plan.stages);
  SimOptions options{.transfers = run.transfers};
  options.peak_composition = true;
  const Timeline timeline = simulate_summary(run.schedule, run.costs, &plan.stages.pipeline, run.lowering, options);
  return largest_text(timeline.devices[static_cast<std::size_t>(plan.score.worst_place)]);
}

}  // namespace plumb
