#include "tools/sweep/sweep_run.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <thread>
#include <utility>

#include <tbb/parallel_pipeline.h>

#include <nlohmann/json.hpp>

#include "models/ground/error.hpp"
#include "models/ground/given_files.hpp"
#include "models/ground/text_file.hpp"
#include "schedules/phases/phase_rules.hpp"
#include "sim/prediction/predict.hpp"
#include "tools/formats/findings.hpp"
#include "tools/formats/schedule_program.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/options/schedule_arguments.hpp"

namespace plumb {

std::vector<SweepPoint> sweep_grid(const SweepRanges& ranges, const ScheduleParams& base) {
  std::vector<SweepPoint> points;
  const auto add_sizes = [&](SweepPoint point) {
    for (const std::int64_t devices : ranges.devices) {
      point.params.num_devices = static_cast<std::int32_t>(devices);
      for (const std::int64_t chunks : ranges.chunks) {
        point.params.chunks = static_cast<std::int32_t>(chunks);
        for (const std::int64_t microbatches : ranges.microbatches) {
          point.params.num_microbatches = microbatches;
          points.push_back(point);
        }
      }
    }
  };
  for (const std::string& cost : ranges.costs) {
    for (const std::string& limit : ranges.memory_limits) {
      for (const JobDegrees& job : ranges.jobs) {
        for (const std::string& schedule : ranges.schedules) add_sizes({schedule, base, cost, limit, job});
      }
    }
  }
  return points;
}

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

namespace {

using ResultJson = nlohmann::json;

constexpr std::array kDoubles{
    &SweepFigures::makespan_ns,      &SweepFigures::step_time_ns,       &SweepFigures::longest_device_span_ns,
    &SweepFigures::bubble_fraction,  &SweepFigures::bubble_rate,        &SweepFigures::utilization,
    &SweepFigures::peak_activations, &SweepFigures::peak_device_stashes};
constexpr std::array kKnownDoubles{&SweepFigures::samples_per_s, &SweepFigures::tokens_per_s,
                                   &SweepFigures::model_flops_utilization};
constexpr std::array kIntervals{&SweepFigures::makespan_interval_ns, &SweepFigures::bubble_interval};
constexpr std::array<std::string_view, 4> kSemantics{"", "synchronous", "asynchronous", "forward"};

ResultJson figures_to_json(const SweepFigures& figures) {
  ResultJson doubles = ResultJson::array();
  for (const auto member : kDoubles) doubles.push_back(figures.*member);
  ResultJson known = ResultJson::array();
  for (const auto member : kKnownDoubles)
    known.push_back(figures.*member ? ResultJson(*(figures.*member)) : ResultJson());
  ResultJson intervals = ResultJson::array();
  for (const auto member : kIntervals) {
    const auto& interval = figures.*member;
    intervals.push_back(interval ? ResultJson{interval->low, interval->high} : ResultJson());
  }
  return {doubles, known, intervals, figures.updates, figures.peak_memory_bytes, figures.needed_bytes};
}

SweepFigures figures_from_json(const ResultJson& json) {
  SweepFigures figures;
  for (std::size_t i = 0; i < kDoubles.size(); ++i) figures.*kDoubles[i] = json[0][i].get<double>();
  for (std::size_t i = 0; i < kKnownDoubles.size(); ++i) {
    if (!json[1][i].is_null()) figures.*kKnownDoubles[i] = json[1][i].get<double>();
  }
  for (std::size_t i = 0; i < kIntervals.size(); ++i) {
    const ResultJson& interval = json[2][i];
    if (!interval.is_null()) figures.*kIntervals[i] = Interval{interval[0].get<double>(), interval[1].get<double>()};
  }
  figures.updates = json[3].get<std::int64_t>();
  figures.peak_memory_bytes = json[4].get<std::int64_t>();
  figures.needed_bytes = json[5].get<std::int64_t>();
  return figures;
}

}  // namespace

std::string sweep_results_to_bytes(const std::vector<SweepResult>& results) {
  ResultJson all = ResultJson::array();
  for (const SweepResult& result : results) {
    const auto semantics = std::ranges::find(kSemantics, result.semantics) - kSemantics.begin();
    all.push_back({{"chunks", result.point.params.chunks},
                   {"semantics", semantics},
                   {"figures", result.figures ? figures_to_json(*result.figures) : ResultJson()},
                   {"fits", result.fits},
                   {"verdict", result.verdict},
                   {"error", result.error},
                   {"cannot_run", result.cannot_run},
                   {"stands_on", result.stands_on},
                   {"decided_without_contention", result.decided_without_contention}});
  }
  std::string bytes;
  ResultJson::to_cbor(all, nlohmann::detail::output_adapter<char>(bytes));
  return bytes;
}

std::vector<SweepResult> sweep_results_from_bytes(std::string_view bytes) {
  std::vector<SweepResult> results;
  for (const ResultJson& json : ResultJson::from_cbor(bytes)) {
    SweepResult& result = results.emplace_back();
    result.point.params.chunks = json["chunks"].get<std::int32_t>();
    result.semantics = kSemantics[json["semantics"].get<std::size_t>()];
    if (!json["figures"].is_null()) result.figures = figures_from_json(json["figures"]);
    result.fits = json["fits"].get<bool>();
    result.verdict = json["verdict"].get<MemoryVerdict>();
    result.error = json["error"].get<std::string>();
    result.cannot_run = json["cannot_run"].get<bool>();
    result.stands_on = json["stands_on"].get<std::string>();
    result.decided_without_contention = json["decided_without_contention"].get<bool>();
  }
  return results;
}

}  // namespace plumb
