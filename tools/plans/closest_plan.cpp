#include "tools/plans/closest_plan.hpp"

#include <algorithm>
#include <vector>

#include "models/ground/error.hpp"
#include "schedules/catalogue/pipeline_copies.hpp"
#include "sim/plan_search/placed_schedule.hpp"
#include "sim/simulate.hpp"
#include "tools/options/memory_limit_argument.hpp"
#include "tools/options/memory_relief.hpp"
#include "tools/plans/plan_figures.hpp"
#include "tools/tables/job_fit.hpp"

namespace plumb {
namespace {

/// The plan as the options of a simulation.
CostArguments costs_of(const PlanQuestion& question, const PlanSearchArguments& arguments, const PipelinePlan& plan) {
  CostArguments costs;
  costs.described = question.network;
  costs.cluster = arguments.cluster;
  costs.memory_limit = arguments.memory_limit;
  costs.partition = to_string(plan.partition);
  costs.job.described = plan.parallelism;
  costs.job.rates = arguments.rates;
  return costs;
}

/// Changes to degrees that the system has; any where no system was named.
bool has(const PlanRuntime* runtime, const MemoryRelief& relief) {
  if (runtime == nullptr) return true;
  const auto lists = [&](const std::string& option, std::string_view values) {
    const std::size_t at = relief.change.find(option);
    if (at == std::string::npos) return true;
    const std::size_t begin = at + option.size();
    const std::string value = relief.change.substr(begin, relief.change.find(' ', begin) - begin);
    return ("," + std::string(values) + ",").find("," + value + ",") != std::string::npos;
  };
  const std::string zero = std::string(runtime->zero) + "," + std::string(runtime->zero_too);
  return lists("--zero ", zero) && lists("--recompute ", runtime->recompute);
}

std::vector<MemoryRelief> reliefs_of(const PlanQuestion& question, const PlanSearchArguments& arguments,
                                     const PipelinePlan& plan) {
  ScheduleArguments size;
  size.devices = plan.places;
  size.microbatches = plan.microbatches;
  if (plan.chunks > 0) size.chunks = plan.chunks;
  if (!plan.shares.empty()) size.options = {std::string(kCopyShares) + "=" + shares_text(plan)};
  const CostArguments costs = costs_of(question, arguments, plan);
  CostDocuments documents;
  documents.network = question.network;
  documents.cluster = question.cluster;
  SimulationArguments simulation;
  simulation.runtime = question.limits.runtime;
  Schedule schedule = load_schedule(plan.schedule, size, search_goal(costs, documents, plan.places));
  CostInput input = cost_input(costs, documents, schedule);
  simulation.adapt(schedule, input);
  Timeline timeline = simulate_summary(schedule, input.costs, input.cluster_pointer(), simulation.lowering(schedule),
                                       simulation.simulation(schedule));
  fill_needs(timeline, *input.job_rates, *input.cluster, parse_memory_limit(costs.memory_limit, input.costs));
  std::vector<MemoryRelief> reliefs =
      memory_reliefs({plan.schedule, size, costs, documents, simulation}, schedule, timeline);
  std::erase_if(reliefs, [&](const MemoryRelief& relief) { return !has(question.runtime, relief); });
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
