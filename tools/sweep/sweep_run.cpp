#include "tools/sweep/sweep_run.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include <tbb/parallel_pipeline.h>

#include "models/ground/error.hpp"
#include "models/ground/given_files.hpp"
#include "models/ground/text_file.hpp"
#include "schedules/phases/phase_rules.hpp"
#include "sim/prediction/predict.hpp"
#include "tools/formats/findings.hpp"
#include "tools/formats/schedule_program.hpp"
#include "tools/options/schedule_arguments.hpp"
#include "tools/options/stash_limit.hpp"

namespace plumb {
namespace {

/// What the schedule's default came to.
std::int32_t chunks_of(const Schedule& schedule) {
  const auto found = schedule.parameters.find("v");
  if (found == schedule.parameters.end()) return 1;
  const auto* chunks = std::get_if<std::int64_t>(&found->second);
  return chunks == nullptr ? 1 : static_cast<std::int32_t>(*chunks);
}

std::string_view semantics_of(const Schedule& schedule) {
  if (schedule.forward_only) return "forward";
  const auto flushes = [](WeightPolicy policy) { return policy == WeightPolicy::kFlush; };
  const std::vector<WeightPolicy>& all = schedule.weights.per_stage;
  const bool synchronous =
      all.empty() ? flushes(schedule.weights.policy) : std::all_of(all.begin(), all.end(), flushes);
  return synchronous ? "synchronous" : "asynchronous";
}

/// Forward and backward of one microbatch through all stages.
Rational work_of(const StageCosts& costs) {
  Ticks all = 0;
  for (const StageTimes& stage : costs.times) all += stage.f + stage.b;
  return {all, costs.base.ticks_per_ns};
}

SweepFigures figures_of(const Timeline& timeline, double share) {
  const auto ns = [&](Ticks ticks) {
    return static_cast<double>(ticks) / static_cast<double>(timeline.base.ticks_per_ns);
  };
  SweepFigures figures{.updates = timeline.updates,
                       .makespan_ns = ns(timeline.makespan),
                       .step_time_ns = ns(timeline.step_time),
                       .longest_device_span_ns = ns(timeline.longest_device_span),
                       .bubble_fraction = timeline.bubble_fraction,
                       .bubble_rate = timeline.bubble_rate,
                       .utilization = timeline.utilization,
                       .samples_per_s = timeline.samples_per_s,
                       .tokens_per_s = timeline.tokens_per_s,
                       .model_flops_utilization = timeline.model_flops_utilization,
                       .makespan_interval_ns = {},
                       .bubble_interval = {}};
  for (const DeviceSummary& device : timeline.devices) {
    figures.peak_activations = std::max(figures.peak_activations, device.peak_activations);
    figures.peak_memory_bytes = std::max(figures.peak_memory_bytes, device.peak_memory_bytes);
  }
  figures.peak_device_stashes = figures.peak_activations * share;
  figures.needed_bytes = most_needed(timeline);
  return figures;
}

/// The value that `percent` of `values` do not exceed.
double percentile(std::vector<double> values, std::size_t percent) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) * percent / 100);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

/// Medians, and intervals of makespan and bubble; what does not depend on time is that of the first run.
SweepFigures middle_of(const std::vector<SweepFigures>& runs) {
  SweepFigures middle = runs.front();
  if (runs.size() == 1) return middle;
  const auto all = [&](double SweepFigures::*member) {
    std::vector<double> values;
    for (const SweepFigures& run : runs) values.push_back(run.*member);
    return values;
  };
  for (double SweepFigures::*member :
       {&SweepFigures::makespan_ns, &SweepFigures::step_time_ns, &SweepFigures::longest_device_span_ns,
        &SweepFigures::bubble_fraction, &SweepFigures::bubble_rate, &SweepFigures::utilization}) {
    middle.*member = percentile(all(member), 50);
  }
  const auto interval = [&](double SweepFigures::*member) {
    return Interval{percentile(all(member), 5), percentile(all(member), 95)};
  };
  middle.makespan_interval_ns = interval(&SweepFigures::makespan_ns);
  middle.bubble_interval = interval(&SweepFigures::bubble_fraction);
  return middle;
}

/// Printed by `program`, exec:FILE, for these sizes.
Schedule printed_schedule(const std::string& program, const ScheduleParams& params) {
  ScheduleArguments size;
  size.devices = params.num_devices;
  size.microbatches = params.num_microbatches;
  if (params.chunks > 0) size.chunks = params.chunks;
  if (params.updates > 0) size.updates = params.updates;
  for (const auto& [key, value] : params.options) size.options.push_back(key + "=" + value);
  return schedule_of_program(program, size);
}

/// Generated, printed by a program, or read where a document has this size. Throws `CannotRun` with the first finding
/// about an invalid one.
Schedule schedule_of(const std::string& name, const ScheduleParams& params) {
  if (!is_schedule_file(name)) return generate(name, params);
  if (name.ends_with(kRulesExtension)) return schedule_from_rules(read_text_file(name), name, params);
  const bool is_program = is_schedule_program(name);
  if (!is_program) check_is_no_program(name);
  Schedule schedule = is_program ? printed_schedule(name, params) : read_schedule(name);
  if (schedule.num_devices != params.num_devices || schedule.per_update(StageId{0}) != params.num_microbatches) {
    throw Error(name + ": is of " + std::to_string(schedule.num_devices) + " devices and " +
                std::to_string(schedule.per_update(StageId{0})) + " microbatches, expected this point's size");
  }
  const auto violations = check_schedule(schedule);
  if (!violations.empty()) throw CannotRun(name + ": " + to_string(violations.front()));
  return schedule;
}

/// All simulations of one point.
class PointRun {
 public:
  PointRun(SweepPoint point, const SweepPlan& plan) : plan_(plan), source_(plan.source), costs_(plan.costs) {
    result_.point = std::move(point);
    costs_.cost = result_.point.cost;
    costs_.memory_limit = result_.point.memory_limit;
    costs_.job.degrees = result_.point.job;
    if (auto* units = std::get_if<AbstractUnits>(&source_.kind)) units->times = result_.point.cost;
  }

  SweepResult run() {
    try {
      simulate_runs();
    } catch (const CannotRun& error) {
      fail(error.what());
      result_.cannot_run = true;
    } catch (const Error& error) {
      fail(error.what());
    }
    return std::move(result_);
  }

 private:
  void fail(const char* why) {
    result_.error = why;
    result_.figures.reset();
    result_.timeline.reset();
  }

  void simulate_runs() {
    ScheduleParams params = result_.point.params;
    take_degrees(costs_, source_);
    const SearchGoal goal = search_goal(costs_, source_, params.num_devices);
    params.costs = goal.costs;
    params.memory_limit = goal.memory_limit;
    Schedule schedule = schedule_of(result_.point.schedule, params);
    result_.point.params.chunks = chunks_of(schedule);
    result_.semantics = semantics_of(schedule);
    PricedPipeline priced = price(source_, schedule);
    result_.stands_on = priced.stands_on;
    if (source_.units() != nullptr) result_.work = work_of(priced.costs);
    const MemoryLimit limit = parse_memory_limit(costs_, priced.costs, schedule);
    const PreparedRun run = prepare_run(std::move(schedule), std::move(priced), source_, plan_.rules);
    SimOptions options = run.rules.simulation(run.schedule);
    options.spans = options.memory_curve = options.stash_curve = plan_.keep_timelines;
    std::vector<SweepFigures> runs;
    const auto take = [&](Timeline timeline) {
      runs.push_back(figures_of(timeline, limit.stash_share));
      ++options.seed;
      if (runs.size() > 1) return;
      result_.fits = plumb::fits(timeline, limit);
      result_.verdict = memory_verdict(timeline, limit);
      if (plan_.keep_timelines) result_.timeline = std::move(timeline);
    };
    if (run.schedule.policy) {  // every run decides anew
      for (std::int64_t k = 0; k < plan_.runs; ++k) {
        PreparedRun undecided = run;
        undecided.rules.seed = static_cast<std::int64_t>(options.seed);
        const OrderedRun decided = decide_order(std::move(undecided));
        result_.decided_without_contention = decided.without_contention;
        take(predict(decided.run, program_of(decided.run, options), limit, options));
      }
    } else if (!plan_.keep_timelines && plan_.runs == 1) {
      take(predict(run, limit, options));
    } else {
      const Program program = program_of(run, options);
      for (std::int64_t k = 0; k < plan_.runs; ++k) take(predict(run, program, limit, options));
    }
    result_.figures = middle_of(runs);
  }

  const SweepPlan& plan_;
  CostSource source_;
  CostArguments costs_;
  SweepResult result_;
};

}  // namespace

void sweep_points(const std::vector<SweepPoint>& points, const SweepPlan& plan,
                  const std::function<void(SweepResult)>& take) {
  const ReadableFiles files = GivenFiles::current();
  std::size_t next = 0;
  // Enough in flight that a slow point does not stop the others; results wait for their turn in order.
  const std::size_t in_flight = 64 * std::max(1U, std::thread::hardware_concurrency());
  tbb::parallel_pipeline(
      in_flight,
      tbb::make_filter<void, std::size_t>(tbb::filter_mode::serial_in_order, [&](tbb::flow_control& control) {
        if (next == points.size()) control.stop();
        return next == points.size() ? next : next++;
      }) & tbb::make_filter<std::size_t, SweepResult>(tbb::filter_mode::parallel, [&](std::size_t at) {
        const GivenFiles given(files);
        return PointRun(points[at], plan).run();
      }) & tbb::make_filter<SweepResult, void>(tbb::filter_mode::serial_in_order, [&](SweepResult result) {
        take(std::move(result));
      }));
}

}  // namespace plumb
