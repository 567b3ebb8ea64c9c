#include "tools/plans/launched_plan.hpp"

#include <algorithm>
#include <utility>

#include "models/jobs/layer_recompute.hpp"
#include "sim/prediction/predict.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/options/launch_arguments.hpp"
#include "tools/plans/plan_search_text.hpp"
#include "tools/tables/launch_text.hpp"
#include "tools/terminal/answer_lines.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"

namespace plumb {
namespace {

/// "8 -> 4"; empty where nothing changes.
template <class Value>
void add_change(std::string& text, const char* name, const Value& now, const Value& then) {
  if (now == then) return;
  const auto words = [](const auto& value) {
    if constexpr (std::is_convertible_v<Value, std::string>) {
      return std::string(value);
    } else {
      return std::to_string(value);
    }
  };
  text += std::string(text.empty() ? "" : ", ") + name + " " + words(now) + " -> " + words(then);
}

std::string changes_text(const LaunchJob& job, const PipelinePlan& plan) {
  const Parallelism& now = job.parallelism;
  const Parallelism& then = plan.parallelism;
  const auto recompute = [](const Parallelism& ranks, const std::vector<std::int32_t>& by_stage) {
    return layer_recompute_text({ranks.recompute, ranks.modules, by_stage});
  };
  std::string text;
  add_change(text, "schedule", job.schedule, plan.schedule);
  add_change(text, "tp", now.tensor, then.tensor);
  if (now.tensor > 1 || then.tensor > 1) {
    const auto divides = [](const Parallelism& ranks) { return std::string(ranks.sequence_parallel ? "yes" : "no"); };
    add_change(text, "sequence parallelism", divides(now), divides(then));
  }
  add_change(text, "pp", job.pipeline, std::int64_t{plan.length()});
  add_change(text, "copies with shares", std::string("none"), plan.shares.empty() ? "none" : shares_text(plan));
  add_change(text, "stages per rank", job.chunks, std::max<std::int64_t>(1, plan.stages_per_place()));
  add_change(text, "cp", now.context, then.context);
  add_change(text, "ep", now.expert, then.expert);
  add_change(text, "dp", now.data, then.data);
  add_change(text, "samples per microbatch", now.microbatch_size, then.microbatch_size);
  add_change(text, "zero", std::int64_t{static_cast<int>(now.zero)}, std::int64_t{static_cast<int>(then.zero)});
  add_change(text, "recompute", recompute(now, {}), recompute(then, plan.choices.recomputed));
  if (job.partition.bounds != plan.partition.bounds && text.empty()) text = "the layers of the stages";
  return text.empty() ? "nothing" : text;
}

}  // namespace

LaunchedPlan launched_plan(LaunchSettings said, PlanSearchArguments& arguments) {
  LaunchJob job = launch_job(said);
  ScheduleArguments size;
  CostArguments costs;
  RunRules rules;
  std::string name;
  costs.cluster = arguments.cluster;
  costs.network = arguments.network;
  costs.precision = arguments.precision;
  costs.sequence = arguments.sequence;
  costs.memory_limit = arguments.memory_limit;
  costs.job.rates = arguments.rates;
  // The plan is for the system that runs the job, unless another one is asked for.
  if (arguments.runtime.empty()) arguments.runtime = job.runtime;
  rules.runtime = arguments.runtime == "none" ? "plumbline" : arguments.runtime;
  if (arguments.batch) {  // the two are compared with the same batch
    job.batch = *arguments.batch;
    job.accumulation = 0;
    job.batch_assumed = false;
  }
  apply_launch(job, {name, size, costs, rules});
  arguments.cluster = costs.cluster;
  arguments.described = job.network;
  arguments.computes = job.parallelism;
  if (!arguments.batch) arguments.batch = job.batch;
  const CostSource source = load_costs(costs);
  Schedule schedule = load_schedule(name, size, search_goal(costs, source, static_cast<std::int32_t>(job.pipeline)));
  Timeline timeline = predict(std::move(schedule), source, rules, parse_memory_limit(costs.memory_limit, true));
  return {std::make_shared<const LaunchSettings>(std::move(said)), std::move(job), std::move(timeline)};
}

std::string launched_plan_text(const LaunchedPlan& launched, const SimulatedPlan& best, const MemoryNeed& need) {
  const std::int64_t now = to_ns(launched.timeline.step_time, launched.timeline.base);
  const std::int64_t then = best.score.step_ns;
  const bool fits = plumb::fits(launched.timeline, MemoryLimit{.in_bytes = true});
  const MemoryVerdict verdict = memory_verdict(launched.timeline, MemoryLimit{.in_bytes = true});
  TextTable table({{"job"}, {"step time", '>'}, {"needed", '>', "memory"}, {""}});
  table.add_row({launched.job.source, time_text(now), bytes_text(most_needed(launched.timeline)),
                 std::string(verdict_word(verdict))});
  table.add_row(
      {"the best plan", time_text(then), bytes_text(need.needed_bytes), std::string(verdict_word(need.verdict()))});
  std::string text = launch_first_text(launched.job) + table.to_string();
  if (then >= now && fits) return text + "no plan that was found is faster than the job as it is\n";
  const double saved = 1 - static_cast<double>(then) / static_cast<double>(now);
  const std::string change =
      saved > 0 ? "the plan takes " + percent_text(saved) + " less; to change: " : "the plan fits; to change: ";
  return text + sentence_text(change + changes_text(launched.job, best.score.plan));
}

}  // namespace plumb
