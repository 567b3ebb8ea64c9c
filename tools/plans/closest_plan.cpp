#include "tools/plans/closest_plan.hpp"

#include <algorithm>
#include <vector>

#include "models/ground/error.hpp"
#include "models/jobs/layer_recompute.hpp"
#include "models/pricing/profiled_network.hpp"
#include "schedules/catalogue/pipeline_copies.hpp"
#include "sim/plan_search/placed_schedule.hpp"
#include "sim/prediction/predict.hpp"
#include "tools/options/memory_limit_argument.hpp"
#include "tools/options/memory_relief.hpp"
#include "tools/plans/plan_figures.hpp"

namespace plumb {
namespace {

/// The job of the plan.
CostSource source_of(const PlanQuestion& question, const PlanSearchArguments& arguments, const PipelinePlan& plan) {
  AnalyticJob job;
  job.book = std::make_shared<JobPriceBook>(std::make_shared<const Network>(question.network),
                                            std::make_shared<const Cluster>(question.cluster), question.rates);
  job.network_name = arguments.network;
  job.cluster_name = arguments.cluster;
  job.parallelism = plan.parallelism;
  job.choices = plan.choices;
  job.cut = cut_as(plan.partition);
  return {.kind = std::move(job)};
}

/// Changes to degrees that the system has; any where no system was named.
bool has(const PlanRuntime* runtime, const Parallelism& now, const Parallelism& then) {
  if (runtime == nullptr) return true;
  if (then.zero != now.zero && !runtime->has(then.zero)) return false;
  return then.recompute == now.recompute || (then.modules.empty() && runtime->has(then.recompute));
}

std::vector<MemoryRelief> reliefs_of(const PlanQuestion& question, const PlanSearchArguments& arguments,
                                     const PipelinePlan& plan) {
  ScheduleArguments size;
  size.devices = plan.places;
  size.microbatches = plan.microbatches;
  if (plan.chunks > 0) size.chunks = plan.chunks;
  if (!plan.shares.empty()) size.options = {std::string(kCopyShares) + "=" + shares_text(plan)};
  const CostSource source = source_of(question, arguments, plan);
  const MemoryLimit limit = parse_memory_limit(arguments.memory_limit, true);
  const RunRules rules{.runtime = std::string(question.limits.runtime)};
  const Schedule schedule = load_schedule(
      plan.schedule, size, {.costs = costs_for_search(source, plan.places), .memory_limit = limit.value.value_or(0)});
  const Timeline timeline = predict(schedule, source, rules, limit);
  std::vector<MemoryRelief> reliefs = memory_reliefs({plan.schedule, size, source, limit, rules}, schedule, timeline);
  std::erase_if(reliefs, [&](const MemoryRelief& relief) {
    return !has(question.runtime, plan.parallelism, relief.parallelism);
  });
  return reliefs;
}

}  // namespace

std::string closest_plan_text(const PlanQuestion& question, const PlanSearchArguments& arguments,
                              const ScoredPlan& closest) {
  const PipelinePlan& plan = closest.plan;
  if (is_profiled(question.network) || plan.partition.num_stages() == 0 || plan.schedule.empty()) return {};
  try {
    const std::string largest = plan_largest(question, simulate_plan(plan, question.job.price));
    const std::string help = plan.replicas.empty() ? relief_text(reliefs_of(question, arguments, plan)) : "";
    return (largest.empty() ? "" : "largest: " + largest + "\n") + help;
  } catch (const Error&) {  // its schedule is not made by its name alone
    return {};
  }
}

}  // namespace plumb
