#include "tools/advice/advice.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <tbb/parallel_for.h>

#include "models/ground/error.hpp"
#include "models/stages/network_costs.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "schedules/document/action_text.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/document/walk.hpp"
#include "sim/comparison/estimate.hpp"
#include "sim/simulate.hpp"
#include "sim/traces/run_samples.hpp"
#include "tools/formats/findings.hpp"
#include "tools/formats/schedule_formats.hpp"
#include "tools/options/runtime_presets.hpp"
#include "tools/options/simulation_arguments.hpp"

namespace plumb {
namespace {

/// Stages per device that are tried besides the default of a schedule.
constexpr std::array kChunks{2, 4};

/// A schedule of the catalogue of the run's size.
struct Candidate {
  std::string name;
  std::int32_t chunks = 0;
  Schedule schedule;
};

/// F, B, I and W of every device in their order, without what only the document says.
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

/// The order that was run, read from what its ranks computed.
Schedule schedule_of_run(const Timeline& timeline) {
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

bool fits(const AdvisedSchedule& schedule, const AdviceOptions& options) {
  if (!options.memory_limit) return true;
  return (options.network ? static_cast<double>(schedule.memory_bytes) : schedule.stashes) <= *options.memory_limit;
}

/// Predicts with the costs of the run.
class Predictor {
 public:
  Predictor(const RunProfile& profile, std::string_view runtime, const AdviceOptions& options) : options_(options) {
    documents_.run_profile = profile;
    arguments_.profile = profile.machine;  // costs are given
    simulation_.runtime = runtime;
  }

  /// What schedules are searched for.
  SearchGoal goal(std::int32_t num_devices) const { return search_goal(arguments_, documents_, num_devices); }

  Timeline predict(Schedule schedule) const {
    CostInput input = cost_input(arguments_, documents_, schedule);
    simulation_.adapt(schedule, input);
    if (options_.network) {
      const MicrobatchShape shape{options_.network->samples, options_.network->sequence};
      const Partition cut = load_partition("equal", *options_.network, schedule.num_stages, {});
      input.costs.memory = untimed_costs(*options_.network, cut, shape, kMixedPrecision).memory;
    }
    SimOptions options = simulation_.simulation(schedule);
    options.spans = options.memory_curve = false;
    return simulate_summary(schedule, input.costs, input.cluster_pointer(), simulation_.lowering(schedule), options);
  }

 private:
  const AdviceOptions& options_;
  CostArguments arguments_;
  CostDocuments documents_;
  SimulationArguments simulation_;
};

/// Schedules that can be written for the runtime, and why others cannot.
class Candidates {
 public:
  Candidates(const Schedule& run, const SearchGoal& goal, const ScheduleFormat& format) : format_(format) {
    params_.num_devices = run.num_devices;
    params_.num_microbatches = run.num_microbatches;
    params_.costs = goal.costs;
  }

  void find() {
    for (const ScheduleSpec& spec : schedule_catalogue()) {
      if (!spec.synchronous || spec.inference || !spec.alias_of.empty()) continue;
      if (const std::string reason = add(spec, 0); !reason.empty())
        left_out.push_back({std::string(spec.name), reason});
      for (const int chunks : kChunks) add(spec, chunks);
    }
  }

  std::vector<Candidate> found;
  std::vector<UnfitSchedule> left_out;

 private:
  /// Why it cannot run; empty where it was added, or its order is there already.
  std::string add(const ScheduleSpec& spec, std::int32_t chunks) {
    try {
      ScheduleParams params = params_;
      params.chunks = chunks;
      Schedule schedule = generate(spec.name, params);
      const Schedule lowered = format_.lower == nullptr ? schedule : format_.lower(schedule);
      if (const auto findings = check_schedule(lowered); !findings.empty()) return to_string(findings.front());
      format_.write(lowered);
      auto order = order_of(schedule);
      if (std::ranges::find(orders_, order) != orders_.end()) return "";
      orders_.push_back(std::move(order));
      found.push_back({std::string(spec.name), chunks, std::move(schedule)});
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }

  const ScheduleFormat& format_;
  ScheduleParams params_;
  std::vector<std::vector<std::vector<Action>>> orders_;
};

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

AdvisedSchedule advised(const Candidate& candidate, const Timeline& predicted, const Advice& advice) {
  AdvisedSchedule schedule{.name = candidate.name, .schedule = candidate.schedule, .chunks = candidate.chunks};
  schedule.stages_per_device = candidate.schedule.num_stages / candidate.schedule.num_devices;
  schedule.step_ns = advice.measured_ns * step_ns(predicted) / advice.predicted_ns;
  schedule.low_ns = schedule.step_ns * (1 - advice.uncertainty);
  schedule.high_ns = schedule.step_ns * (1 + advice.uncertainty);
  schedule.saves = 1 - schedule.step_ns / advice.measured_ns;
  schedule.bubble_fraction = predicted.bubble_fraction;
  for (const DeviceSummary& device : predicted.devices) {
    schedule.stashes = std::max(schedule.stashes, device.peak_activations);
    schedule.memory_bytes = std::max(schedule.memory_bytes, device.peak_memory_bytes);
  }
  schedule.stashes *= static_cast<double>(candidate.schedule.num_devices) / candidate.schedule.num_stages;
  return schedule;
}

}  // namespace

const AdvisedSchedule* Advice::best() const {
  return schedules.empty() || !schedules.front().fits ? nullptr : &schedules.front();
}

bool Advice::has_gain() const { return best() != nullptr && best()->saves > uncertainty; }

Advice advise(const TracedRun& run, const AdviceOptions& options) {
  const RunProfile& profile = run.known_profile();
  const Schedule own = schedule_of_run(run.timeline);
  const RuntimePreset& runtime = runtime_preset(profile.runtime, own);
  if (runtime.format.empty()) {
    throw Error("advise: no schedule can be given to the runtime '" + profile.runtime +
                "'; expected a run of one that `plumbline schedule --format` writes files for");
  }
  Advice advice;
  advice.runtime = runtime.runs_files_as.empty() ? runtime.name : runtime.runs_files_as;
  advice.format = runtime.format;
  advice.num_devices = own.num_devices;
  advice.num_microbatches = own.num_microbatches;
  judge_run(run, Predictor(profile, profile.runtime, options).predict(own), advice);

  const Predictor predictor(profile, advice.runtime, options);
  Candidates candidates(own, predictor.goal(own.num_devices), schedule_format(advice.format, {}));
  candidates.find();
  advice.left_out = std::move(candidates.left_out);
  std::vector<AdvisedSchedule> schedules(candidates.found.size());
  std::vector<std::string> refused(candidates.found.size());
  const auto run_order = order_of(own);
  tbb::parallel_for(std::size_t{0}, candidates.found.size(), [&](std::size_t at) {
    const Candidate& candidate = candidates.found[at];
    try {
      schedules[at] = advised(candidate, predictor.predict(candidate.schedule), advice);
      schedules[at].fits = fits(schedules[at], options);
      schedules[at].is_run = order_of(candidate.schedule) == run_order;
    } catch (const Error& error) {
      refused[at] = error.what();
    }
  });
  for (std::size_t at = 0; at < schedules.size(); ++at) {
    if (refused[at].empty()) advice.schedules.push_back(std::move(schedules[at]));
    if (!refused[at].empty()) advice.left_out.push_back({candidates.found[at].name, refused[at]});
  }
  std::ranges::stable_sort(advice.schedules, [](const AdvisedSchedule& one, const AdvisedSchedule& other) {
    return std::pair(!one.fits, one.step_ns) < std::pair(!other.fits, other.step_ns);
  });
  return advice;
}

}  // namespace plumb
