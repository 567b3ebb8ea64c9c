#include "tools/advice/candidates.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "models/ground/error.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "schedules/document/walk.hpp"
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

}  // namespace plumb
