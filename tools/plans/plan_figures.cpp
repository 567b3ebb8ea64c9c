#include "tools/plans/plan_figures.hpp"

#include "models/jobs/job_places.hpp"
#include "models/pricing/profiled_network.hpp"
#include "models/stages/network_costs.hpp"
#include "sim/prediction/memory_fit.hpp"
#include "sim/simulate.hpp"
#include "tools/tables/job_fit.hpp"

namespace plumb {
namespace {

/// Microbatches of a schedule that is simulated once more, for what is alive at its peak.
constexpr std::int64_t kMostPeakMicrobatches = 4096;

MemoryNeed need_of_place(const PlanQuestion& question, const PipelinePlan& plan, std::int32_t place,
                         std::int64_t peak_bytes) {
  const bool profiled = is_profiled(question.network);
  std::int64_t limit = question.limits.memory_bytes;
  if (limit == 0) {
    const auto devices =
        profiled ? std::int64_t{place} : place_devices(question.cluster, plan.parallelism, place + 1).back().first;
    limit = question.cluster.devices[static_cast<std::size_t>(devices)].memory_bytes;
  }
  return profiled ? exact_need(peak_bytes, limit) : memory_need(peak_bytes, question.used_rates(), limit);
}

}  // namespace

PlanSpeed plan_speed(const PlanQuestion& question, const ScoredPlan& score) {
  if (is_profiled(question.network) || score.step_ns <= 0) return {};
  const double samples = static_cast<double>(question.job.batch);
  const double flops = samples * model_flops(question.network, {1, question.network.sequence});
  const auto devices = static_cast<double>(score.plan.num_devices());
  const double each = flops / devices / (static_cast<double>(score.step_ns) * 1e-9);
  return {.tflops_per_device = each / 1e12, .utilization = each / question.cluster.devices.front().flops_per_s};
}

MemoryNeed plan_need(const PlanQuestion& question, const ScoredPlan& score) {
  return need_of_place(question, score.plan, score.worst_place, score.worst_bytes);
}

void fill_needs(const PlanQuestion& question, const PipelinePlan& plan, Timeline& timeline) {
  for (const std::int32_t place : plan.order) {
    DeviceSummary& device = timeline.devices[static_cast<std::size_t>(place)];
    device.need = need_of_place(question, plan, place, device.peak_memory_bytes);
  }
}

std::string plan_systems_text(const PlanQuestion& question, const PipelinePlan& plan) {
  if (question.runtime != nullptr) return std::string(question.runtime->title);
  std::string text;
  for (const std::string_view title : plan_systems(plan, question.network)) {
    text += (text.empty() ? "" : ", ") + std::string(title);
  }
  return text.empty() ? "none that is known" : text;
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
