#include "tools/advice/advice.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include <tbb/parallel_for.h>

#include "models/ground/error.hpp"
#include "models/sources/backward_split.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "schedules/document/action_text.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/document/walk.hpp"
#include "sim/comparison/estimate.hpp"
#include "sim/runtimes/runtime_presets.hpp"
#include "sim/traces/calm_steps.hpp"
#include "tools/formats/findings.hpp"

namespace plumb {
namespace {

/// Stages per device that are tried besides the default of a schedule.
constexpr std::array kChunks{2, 4};
/// A pipeline has at least two ranks.
constexpr std::int32_t kLeastRanks = 2;

/// As the generator takes it; 0: its default.
std::int32_t chunks_of_run(const Schedule& run) {
  return run.num_stages == run.num_devices ? 0 : run.num_stages / run.num_devices;
}

/// The schedule for as many devices, microbatches and stages as the run had, if it then has this order.
std::optional<Schedule> made_as(const ScheduleSpec& spec, const Schedule& run,
                                const std::vector<std::vector<Action>>& order) {
  ScheduleParams params;
  params.num_devices = run.num_devices;
  params.num_microbatches = run.num_microbatches;
  params.chunks = chunks_of_run(run);
  try {
    Schedule schedule = generate(spec.name, params);
    if (order_of(schedule) == order) return schedule;
  } catch (const Error&) {
    // Not for as many devices, microbatches or stages.
  }
  return std::nullopt;
}

class CandidateFinder {
 public:
  CandidateFinder(const RunPredictor& predictor, const ScheduleFormat& format)
      : predictor_(predictor), format_(format) {}

  /// `run` says how many devices and microbatches there are.
  void add_layout(const Schedule& run, std::int32_t replicas, Candidates& candidates) {
    replicas_ = replicas;
    params_ = {};
    params_.num_devices = run.num_devices / replicas;
    params_.num_microbatches = run.num_microbatches / replicas;
    const SearchGoal goal = predictor_.goal(params_.num_devices);
    for (const ScheduleSpec& spec : schedule_catalogue()) {
      if (!spec.synchronous || spec.inference || !spec.alias_of.empty()) continue;
      const std::string reason = add(spec, goal, 0, candidates.found);
      if (!reason.empty() && replicas == 1) candidates.left_out.push_back({std::string(spec.name), reason});
      for (const int chunks : kChunks) add(spec, goal, chunks, candidates.found);
    }
  }

  /// Marks the candidate that has the order of `run`; the layout without replicas is the last one that was added.
  void mark_run(const Schedule& run, std::vector<Candidate>& found) {
    const auto order = order_of(run);
    auto same = std::ranges::find(orders_, order);
    for (const ScheduleSpec& spec : schedule_catalogue()) {
      if (same != orders_.end()) break;
      if (spec.alias_of.empty() || !made_as(spec, run, order)) continue;
      add(spec, predictor_.goal(run.num_devices), chunks_of_run(run), found);
      same = std::ranges::find(orders_, order);
    }
    if (same != orders_.end()) found[static_cast<std::size_t>(same - orders_.begin())].is_run = true;
  }

 private:
  /// Why it cannot run; empty where it was added, or its order is there already.
  std::string add(const ScheduleSpec& spec, const SearchGoal& goal, std::int32_t chunks,
                  std::vector<Candidate>& found) {
    try {
      params_.chunks = chunks;
      params_.costs = goal.costs;
      params_.memory_limit = goal.memory_limit;
      Schedule schedule = generate(spec.name, params_);
      const Schedule lowered = format_.lower == nullptr ? schedule : format_.lower(schedule);
      if (const auto findings = check_schedule(lowered); !findings.empty()) return to_string(findings.front());
      format_.write(lowered);
      auto order = order_of(schedule);
      if (const auto same = std::ranges::find(orders_, order); same != orders_.end()) {
        found[static_cast<std::size_t>(same - orders_.begin())].also_called.emplace_back(spec.name);
        return "";
      }
      params_.costs = nullptr;
      params_.memory_limit = 0;
      const bool for_costs = order_of(generate(spec.name, params_)) != order;
      orders_.push_back(std::move(order));
      found.push_back({std::string(spec.name), chunks, replicas_, for_costs, false, std::move(schedule), {}});
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }

  const RunPredictor& predictor_;
  const ScheduleFormat& format_;
  std::int32_t replicas_ = 1;
  ScheduleParams params_;
  std::vector<std::vector<std::vector<Action>>> orders_;
};

}  // namespace

std::vector<std::vector<Action>> order_of(const Schedule& schedule) {
  std::vector<std::vector<Action>> order(schedule.devices.size());
  for (std::size_t d = 0; d < schedule.devices.size(); ++d) {
    walk(schedule.devices[d], [&](Action action) {
      action.overlaps_next = 0;
      if (action.op <= Op::kW) order[d].push_back(action);
    });
  }
  return order;
}

Candidates find_candidates(const Schedule& run, const RunPredictor& predictor, const ScheduleFormat& format) {
  Candidates candidates;
  CandidateFinder finder(predictor, format);
  finder.add_layout(run, 1, candidates);
  finder.mark_run(run, candidates.found);
  for (std::int32_t replicas = 2; replicas * kLeastRanks <= run.num_devices; ++replicas) {
    const bool divides = run.num_devices % replicas == 0 && run.num_microbatches % replicas == 0;
    if (divides && predictor.reduction_ns(run.num_devices, replicas)) finder.add_layout(run, replicas, candidates);
  }
  return candidates;
}

Candidates own_candidate(const Schedule& run) {
  Candidate own{.name = run.name, .chunks = chunks_of_run(run), .is_run = true, .schedule = run, .also_called = {}};
  const auto order = order_of(run);
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    if (!spec.synchronous || spec.inference || !spec.alias_of.empty()) continue;
    auto schedule = made_as(spec, run, order);
    if (!schedule) continue;
    own.name = spec.name;
    own.schedule = *std::move(schedule);
    break;
  }
  return {.found = {std::move(own)}, .left_out = {}};
}

namespace {

/// The order that was run, read from what its ranks computed.
Schedule schedule_of_run(const Timeline& timeline) {
  if (timeline.spans.empty()) {
    throw Error(
        "advise: the run is a summary without actions, so its order is not known; expected the traces, or the "
        "whole timeline");
  }
  std::vector<std::string> lines(timeline.devices.size());
  for (const Span& span : timeline.spans) {
    if (span.lane != Lane::kCompute || span.action.op > Op::kW) continue;
    std::string& line = lines[index(span.device)];
    if (!line.empty()) line += ',';
    append_text(line, span.action);
  }
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return schedule_from_torch_csv(text, timeline.schedule);
}

double step_ns(const Timeline& timeline) {
  return static_cast<double>(timeline.step_time) / static_cast<double>(timeline.base.ticks_per_ns);
}

/// The run's order, and the predictor of the runtime that ran it.
struct OwnRun {
  Schedule schedule;
  RunPredictor predictor;
};

/// The run's order as `candidates` have it: with the overlapped pairs, which the work of a rank does not tell, and
/// whose messages wait for both halves. An order that none of them has comes back as it is.
Schedule as_candidate(Schedule run, const std::vector<Candidate>& candidates) {
  const auto same = std::ranges::find_if(candidates, &Candidate::is_run);
  if (same == candidates.end()) return run;
  Schedule schedule = same->schedule;
  schedule.name = run.name;
  return schedule;
}

/// Other costs that the run may have had, with the run's own step.
struct Alternative {
  RunPredictor predictor;
  double own_ns = 0;
};

/// `[cost][low, high]`.
using Alternatives = std::vector<std::array<Alternative, 2>>;

Alternatives alternatives(const RunProfile& profile, const Schedule& own, const Advice& advice,
                          const AdviceOptions& options) {
  const auto of = [&](std::size_t cost, bool high) {
    const RunProfile other = profile_with_tenth(profile, static_cast<UnsureCost>(cost), high);
    const double own_ns = step_ns(RunPredictor(other, profile.runtime, options).predict(own, 1));
    return Alternative{RunPredictor(other, advice.runtime, options), own_ns};
  };
  Alternatives made;
  for (std::size_t cost = 0; cost < kUnsureCostCount; ++cost) made.push_back({of(cost, false), of(cost, true)});
  return made;
}

/// What the run says about its own steps.
void judge_run(const TracedRun& run, const Timeline& predicted, Advice& advice) {
  std::vector<double> calm;
  for (const std::int32_t step : calm_steps(run.step_ns)) {
    calm.push_back(static_cast<double>(run.step_ns[static_cast<std::size_t>(step)]));
  }
  const auto [least, most] = std::ranges::minmax(calm);
  advice.steps = std::ssize(calm);
  advice.measured_ns = median_of(std::move(calm));
  advice.predicted_ns = step_ns(predicted);
  advice.spread = (most - least) / (2 * advice.measured_ns);
  advice.uncertainty = std::abs(advice.predicted_ns / advice.measured_ns - 1) + advice.spread;
}

/// By what share the step may be shorter and longer.
void set_interval(const Alternatives& others, const Advice& advice, AdvisedSchedule& schedule) {
  double shorter = advice.uncertainty * advice.uncertainty;
  double longer = shorter;
  const Candidate& candidate = schedule.candidate;
  for (const auto& pair : others) {
    double less = 0;
    double more = 0;
    for (const Alternative& other : pair) {
      const double predicted = step_ns(other.predictor.predict(candidate.schedule, candidate.replicas));
      const double change = advice.measured_ns * predicted / other.own_ns / schedule.step_ns - 1;
      less = std::min(less, change);
      more = std::max(more, change);
    }
    shorter += less * less;
    longer += more * more;
  }
  schedule.low_ns = schedule.step_ns * std::max(0.0, 1 - std::sqrt(shorter));
  schedule.high_ns = schedule.step_ns * (1 + std::sqrt(longer));
}

AdvisedSchedule advised(const Candidate& candidate, const Timeline& predicted, const Advice& advice,
                        const MemoryLimit& limit) {
  const Schedule& of = candidate.schedule;
  AdvisedSchedule schedule{.candidate = candidate};
  schedule.stages_per_device = of.num_stages / of.num_devices;
  schedule.step_ns = advice.measured_ns * step_ns(predicted) / advice.predicted_ns;
  schedule.saves = 1 - schedule.step_ns / advice.measured_ns;
  schedule.bubble_fraction = predicted.bubble_fraction;
  for (const DeviceSummary& device : predicted.devices) {
    schedule.stashes = std::max(schedule.stashes, device.peak_activations);
  }
  schedule.memory_bytes = most_needed(predicted);
  schedule.stashes *= static_cast<double>(advice.num_devices) / of.num_stages;
  schedule.fits = fits(predicted, limit);
  return schedule;
}

/// The run's profile, of the runtime that the user names: some leave the same traces.
RunProfile profile_of(const TracedRun& run, const AdviceOptions& options) {
  RunProfile profile = run.known_profile();
  if (!options.runtime.empty()) profile.runtime = options.runtime;
  if (options.network) profile.input_grad_share = input_grad_share(*options.network);
  return profile;
}

OwnRun own_run(const TracedRun& run, const AdviceOptions& options) {
  const RunProfile profile = profile_of(run, options);
  return {schedule_of_run(run.timeline()), RunPredictor(profile, profile.runtime, options)};
}

/// Predicts all candidates at once.
void predict_all(const Candidates& candidates, const RunPredictor& predictor, const Alternatives& others,
                 Advice& advice) {
  std::vector<AdvisedSchedule> schedules(candidates.found.size());
  std::vector<std::string> refused(candidates.found.size());
  tbb::parallel_for(std::size_t{0}, candidates.found.size(), [&](std::size_t at) {
    const Candidate& candidate = candidates.found[at];
    try {
      schedules[at] = advised(candidate, predictor.predict(candidate.schedule, candidate.replicas), advice,
                              predictor.memory_limit(candidate.schedule));
      set_interval(others, advice, schedules[at]);
    } catch (const Error& error) {
      refused[at] = error.what();
    }
  });
  for (std::size_t at = 0; at < schedules.size(); ++at) {
    if (refused[at].empty()) advice.schedules.push_back(std::move(schedules[at]));
    if (!refused[at].empty()) advice.left_out.push_back({candidates.found[at].name, refused[at]});
  }
}

/// Fastest first, those that do not fit last; but of those that are as fast as the fastest, as far as predictions can
/// tell, the one that holds the least comes first.
void put_in_order(const AdviceOptions& options, std::vector<AdvisedSchedule>& schedules) {
  std::ranges::stable_sort(schedules, [](const AdvisedSchedule& one, const AdvisedSchedule& other) {
    return std::pair(!one.fits, one.step_ns) < std::pair(!other.fits, other.step_ns);
  });
  for (AdvisedSchedule& schedule : schedules) {
    schedule.ties = schedule.fits && schedule.step_ns <= (1 + kSameStep) * schedules.front().step_ns;
  }
  const auto held = [&](const AdvisedSchedule& schedule) {
    return options.network ? static_cast<double>(schedule.memory_bytes) : schedule.stashes;
  };
  const auto end = std::ranges::find(schedules, false, &AdvisedSchedule::ties);
  const auto least = std::ranges::min_element(schedules.begin(), end, {}, held);
  if (least != end) std::rotate(schedules.begin(), least, least + 1);
}

std::vector<std::string> assumptions(const RunProfile& profile, const Advice& advice) {
  const std::string stages = std::to_string(profile.stages.size());
  std::vector<std::string> said{"Other numbers of stages are the run's " + stages +
                                " stages merged, or cut into equal parts; messages keep their size."};
  for (const std::string& note : run_profile_costs(profile, static_cast<std::int32_t>(profile.stages.size())).notes) {
    said.push_back("In schedules that split the backward, " + note + ".");
  }
  if (advice.run_by != advice.runtime) {
    said.push_back("The run used a built-in class of PyTorch (" + advice.run_by +
                   "). Predictions are for schedule files, which " + advice.runtime + " runs slightly differently.");
  }
  if (advice.steps == 1) {
    said.emplace_back(
        "Only one step was not disturbed, so how far steps spread is not known, and not in the intervals.");
  }
  const auto has_replicas = [](const AdvisedSchedule& one) { return one.candidate.replicas > 1; };
  if (std::ranges::any_of(advice.schedules, has_replicas)) {
    said.emplace_back("Replicas reduce their gradients after the last backward, as fast as the run's messages went.");
  }
  return said;
}

}  // namespace

const AdvisedSchedule* Advice::best() const {
  return schedules.empty() || !schedules.front().fits ? nullptr : &schedules.front();
}

const AdvisedSchedule* Advice::own() const {
  const auto found = std::ranges::find_if(schedules, [](const AdvisedSchedule& one) { return one.candidate.is_run; });
  return found == schedules.end() ? nullptr : &*found;
}

const AdvisedSchedule& Advice::named(const std::string& name) const {
  std::vector<std::string_view> names;
  for (const AdvisedSchedule& schedule : schedules) {
    const Candidate& candidate = schedule.candidate;
    if (candidate.name == name || std::ranges::find(candidate.also_called, name) != candidate.also_called.end())
      return schedule;
    names.push_back(schedule.candidate.name);
  }
  throw_unknown("schedule", name, names);
}

bool Advice::has_gain() const { return best() != nullptr && best()->saves > uncertainty; }

Advice advise(const TracedRun& run, const AdviceOptions& options) {
  const RunProfile profile = profile_of(run, options);
  OwnRun own = own_run(run, options);
  const RuntimePreset& runtime = runtime_preset(profile.runtime, own.schedule);
  Advice advice;
  advice.run_by = runtime.name;
  advice.runtime = runtime.runs_files_as.empty() ? runtime.name : runtime.runs_files_as;
  advice.format = runtime.format;
  advice.given = options.given;
  advice.num_devices = own.schedule.num_devices;
  advice.num_microbatches = own.schedule.num_microbatches;

  const RunPredictor predictor(profile, advice.runtime, options);
  Candidates candidates = advice.format.empty()
                              ? own_candidate(own.schedule)
                              : find_candidates(own.schedule, predictor, schedule_format(advice.format, {}));
  own.schedule = as_candidate(std::move(own.schedule), candidates.found);
  judge_run(run, own.predictor.predict(own.schedule, 1), advice);
  advice.left_out = std::move(candidates.left_out);
  predict_all(candidates, predictor, alternatives(profile, own.schedule, advice, options), advice);
  put_in_order(options, advice.schedules);
  advice.assumptions = assumptions(profile, advice);
  advice.assumptions.insert(advice.assumptions.end(), run.left_out.begin(), run.left_out.end());
  return advice;
}

AdvisedTimelines advised_timelines(const TracedRun& run, const Advice& advice, const AdviceOptions& options) {
  OwnRun own = own_run(run, options);
  if (const AdvisedSchedule* same = advice.own())
    own.schedule = as_candidate(std::move(own.schedule), {same->candidate});
  AdvisedTimelines timelines{.own = own.predictor.predict(own.schedule, 1, true), .fastest = {}};
  const AdvisedSchedule* best = advice.best();
  if (best == nullptr) return timelines;
  const RunPredictor predictor(profile_of(run, options), advice.runtime, options);
  timelines.fastest = predictor.predict(best->candidate.schedule, best->candidate.replicas, true);
  return timelines;
}

}  // namespace plumb
