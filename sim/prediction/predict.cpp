#include "sim/prediction/predict.hpp"

#include <utility>

#include "models/ground/error.hpp"
#include "schedules/program/pricing_shape.hpp"
#include "sim/events/policy_order.hpp"
#include "sim/events/ready_order.hpp"
#include "sim/rules/run_size.hpp"
#include "sim/runtimes/runtime_presets.hpp"
#include "sim/simulate.hpp"

namespace plumb {
namespace {

Timeline noted(Timeline timeline, const PreparedRun& run, const MemoryLimit& limit) {
  timeline.schedule = run.schedule.name;
  timeline.machine = run.priced.description;
  if (timeline.model_flops_utilization && run.priced.cluster) {
    timeline.tflops_per_device =
        *timeline.model_flops_utilization * run.priced.cluster->devices.front().flops_per_s * 1e-12;
  }
  fill_memory(timeline, run.priced, limit);
  return timeline;
}

}  // namespace

PreparedRun prepare_run(Schedule schedule, PricedPipeline priced, const CostSource& source, RunRules rules) {
  if (rules.runtime.empty() && source.run() != nullptr) {
    const std::string& traced = source.run()->runtime;
    rules.runtime = runtime_after(traced, schedule);
    if (rules.runtime != traced) {
      priced.description += "; run by " + rules.runtime + ", because " + traced + " runs only 1F1B and GPipe";
    }
  }
  PreparedRun run{std::move(schedule), std::move(priced), std::move(rules), {}};
  run_as(runtime_preset(run.rules.runtime, run.schedule), run.schedule, run.priced.costs);
  run.lowering = run.rules.lowering(run.schedule);
  return run;
}

OrderedRun decide_order(PreparedRun run, OrderRule rule) {
  if (run.schedule.policy && rule != OrderRule::kFixed) {
    throw Error("--order: the schedule has its own run-time policy, expected no --order");
  }
  if (rule == OrderRule::kFixed && !run.schedule.policy) return {std::move(run)};
  const Program program = program_of(run);
  const std::uint64_t seed = run.rules.seed_or_zero();
  RunTimeOrder decided = run.schedule.policy ? policy_order(run.schedule, program, seed)
                         : rule == OrderRule::kReady
                             ? run_time_order(run.schedule, program, ListPriority(), {.seed = seed})
                             : run_time_order(run.schedule, program, BackwardFirst(), {.seed = seed});
  run.schedule = std::move(decided.schedule);
  run.lowering = run.rules.lowering(run.schedule);
  return {std::move(run), !program.contention.empty()};
}

Program program_of(const PreparedRun& run, const SimOptions& options) {
  check_run_size(run.schedule, makes_transfers(run.costs(), run.cluster(), run.lowering), options);
  return lower(run.schedule, run.costs(), run.cluster(), run.lowering);
}

Timeline predict(const PreparedRun& run, const Program& program, const MemoryLimit& limit, const SimOptions& options) {
  return noted(simulate(program, options), run, limit);
}

Timeline predict(const PreparedRun& run, const MemoryLimit& limit, const SimOptions& options) {
  if (options.spans) return predict(run, program_of(run, options), limit, options);
  return noted(simulate_summary(run.schedule, run.costs(), run.cluster(), run.lowering, options), run, limit);
}

Timeline predict(Schedule schedule, const CostSource& source, const RunRules& rules, const MemoryLimit& limit) {
  PricedPipeline priced = price(source, schedule);
  const PreparedRun run = decide_order(prepare_run(std::move(schedule), std::move(priced), source, rules)).run;
  SimOptions options = run.rules.simulation(run.schedule);
  options.spans = options.memory_curve = false;
  return predict(run, limit, options);
}

}  // namespace plumb
