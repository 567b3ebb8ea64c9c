#include "schedules/method_buffers.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <ranges>
#include <string_view>
#include <tuple>

#include "schedules/delays.hpp"
#include "schedules/methods.hpp"

namespace plumb {
namespace {

std::int64_t span_of(const std::map<std::int64_t, std::int32_t>& versions) {
  const auto [least, most] = std::ranges::minmax(versions | std::views::values);
  return most - least + 1;
}

/// By holder: the most versions, in a row, that were read by forwards whose backwards were still to come.
std::vector<std::int64_t> most_read_ahead(const Program& program) {
  std::vector<std::map<std::int64_t, std::int32_t>> open(program.holders.size());  // versions by microbatch
  std::vector<std::int64_t> most(program.holders.size(), 0);
  if (program.version_read.empty()) return most;
  for (InstrIndex at = 0; at < program.size(); ++at) {
    const Action& action = program.instrs[at].action;
    const std::uint32_t holder = program.rows[program.instrs[at].row].holder;
    auto& versions = open[holder];
    const auto first = static_cast<std::int64_t>(action.microbatch);
    for (std::int64_t k = first; k <= first + action.merged; ++k) {
      if (action.op == Op::kF) versions.emplace(k, program.version_read[at]);
      if (action.op == Op::kF) most[holder] = std::max<std::int64_t>(most[holder], span_of(versions));
      if (is_backward(action.op)) versions.erase(k);
    }
  }
  return most;
}

/// Extrapolates where the backward is behind its forward: once for backwards, and for R where its delay differs.
std::int32_t of_t2(const Schedule&, const Method&, const MethodPlace& place) {
  const bool corrects = place.forward > place.backward;
  const bool recomputes = place.recompute != place.backward && place.forward > place.recompute;
  return (corrects ? 1 : 0) + (recomputes ? 1 : 0);
}

std::int32_t of_spectrain(const Schedule& schedule, const Method&, const MethodPlace& place) {
  const Prediction& ahead = schedule.weights.prediction;
  const std::size_t stage = index(place.stage);
  if (ahead.backward.empty()) return ahead.forward[stage] == 0 ? 0 : static_cast<std::int32_t>(place.predictions);
  return ahead.forward[stage] > 0 || ahead.backward[stage] > 0 ? 1 : 0;
}

std::int32_t of_xpipe(const Schedule& schedule, const Method&, const MethodPlace& place) {
  const Prediction& ahead = schedule.weights.prediction;
  const std::size_t stage = index(place.stage);
  return (ahead.forward[stage] > 0 ? 1 : 0) + (ahead.backward[stage] > 0 ? 1 : 0);
}

std::int32_t of_pipeoptim(const Schedule& schedule, const Method&, const MethodPlace& place) {
  return schedule.weights.prediction.forward[index(place.stage)] > 0 ? 1 : 0;
}

std::int32_t of_late_forwards(const Schedule&, const Method&, const MethodPlace& place) {
  return place.forward > 0 ? 1 : 0;
}

std::int32_t always_one(const Schedule&, const Method&, const MethodPlace&) { return 1; }

std::int32_t of_compensation(const Schedule&, const Method& method, const MethodPlace&) {
  return *parameter(method, "adaptive") == 1 ? 1 : 0;
}

std::int32_t of_elastic(const Schedule&, const Method&, const MethodPlace& place) {
  return place.replica == ReplicaId{0} ? 1 : 0;
}

/// Where weights were given from, and what was given in the waves whose sums are still to come.
std::int32_t of_wsp(const Schedule& schedule, const Method&, const MethodPlace&) {
  const std::int32_t distance = schedule.weights.sync_distance;
  return distance == 0 ? 1 : distance + 2;
}

struct Rule {
  std::string_view name;
  std::int32_t (*buffers)(const Schedule&, const Method&, const MethodPlace&);
};

/// Methods that are not named keep none.
constexpr std::array kRules{
    Rule{"t2", of_t2},
    Rule{"spectrain", of_spectrain},
    Rule{"xpipe", of_xpipe},
    Rule{"pipeoptim", of_pipeoptim},
    Rule{"msnag", of_late_forwards},
    Rule{"lwp", of_late_forwards},
    Rule{"gap-aware", always_one},
    Rule{"dc-asgd", of_compensation},
    Rule{"elastic", of_elastic},
    Rule{"wsp", of_wsp},
};

}  // namespace

std::int32_t buffers_of(const Method& method, const Schedule& schedule, const MethodPlace& place) {
  const auto rule = std::ranges::find(kRules, std::string_view(method.name), &Rule::name);
  return rule == kRules.end() ? 0 : rule->buffers(schedule, method, place);
}

std::vector<MethodPlace> method_places(const Schedule& schedule, const Program& program) {
  std::map<std::tuple<ReplicaId, StageId, DeviceId>, StageDelays> delays;
  for (StageDelays& of : stage_delays(schedule, program))
    delays.emplace(std::tuple(of.replica, of.stage, of.device), of);
  const std::vector<std::int64_t> predictions = most_read_ahead(program);
  std::vector<MethodPlace> places;
  for (std::size_t i = 0; i < program.holders.size(); ++i) {
    const Holder& holder = program.holders[i];
    const StageDelays& of = delays.at({holder.replica, holder.stage, holder.device});
    const double backward = mean_delay(of.backward);
    places.push_back({.stage = holder.stage,
                      .replica = holder.replica,
                      .forward = mean_delay(of.forward),
                      .backward = backward,
                      .recompute = of.recompute.empty() ? backward : mean_delay(of.recompute),
                      .distance = mean_delay(of.distance),
                      .predictions = predictions[i]});
  }
  return places;
}

void count_correction_buffers(const Schedule& schedule, Program& program) {
  check_methods(schedule);
  for (Holder& holder : program.holders) {
    holder.correction_buffers = static_cast<std::int32_t>(schedule.weights.correction_buffers.size());
  }
  if (schedule.weights.methods.empty()) return;
  const std::vector<MethodPlace> places = method_places(schedule, program);
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (const Method& method : schedule.weights.methods) {
      program.holders[i].correction_buffers += buffers_of(method, schedule, places[i]);
    }
  }
}

}  // namespace plumb
