#include "schedules/versions/method_buffers.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>

#include "schedules/document/methods.hpp"
#include "schedules/versions/delays.hpp"
#include "schedules/versions/predicted_reads.hpp"
#include "schedules/versions/steady_delays.hpp"

namespace plumb {
namespace {

/// By holder: the most predictions, in a row, that were read by forwards whose backwards were still to come; and how
/// far they look ahead.
void count_predictions(const Schedule& schedule, const Program& program, std::vector<MethodPlace>& places) {
  const std::vector<PredictedRead> reads = predicted_reads(schedule, program);
  std::vector<std::multiset<std::int32_t>> open(places.size());
  for (InstrIndex at = 0; at < reads.size(); ++at) {
    const Action& action = program.instrs[at].action;
    const std::uint32_t holder = program.rows[program.instrs[at].row].holder;
    MethodPlace& place = places[holder];
    std::multiset<std::int32_t>& numbers = open[holder];
    for (std::int32_t i = 0; i <= action.merged; ++i) {
      if (action.op == Op::kF) {
        numbers.insert(reads[at].number);
        place.forward_ahead = std::max<std::int64_t>(place.forward_ahead, reads[at].steps);
        place.predictions = std::max<std::int64_t>(place.predictions, *numbers.rbegin() - *numbers.begin() + 1);
      } else if (is_backward(action.op)) {
        place.backward_ahead = std::max<std::int64_t>(place.backward_ahead, reads[at].steps);
        numbers.erase(numbers.find(reads[at].number));
      }
    }
  }
}

/// Extrapolates where the backward reads later weights than its forward: once for backwards, and for R where its delay
/// differs.
std::int32_t of_t2(const Schedule&, const Method&, const MethodPlace& place) {
  const bool corrects = place.forward > place.backward;
  const bool recomputes = place.recompute != place.backward && place.forward > place.recompute;
  return (corrects ? 1 : 0) + (recomputes ? 1 : 0);
}

std::int32_t of_spectrain(const Schedule& schedule, const Method&, const MethodPlace& place) {
  if (place.forward_ahead == 0 && place.backward_ahead == 0) return 0;
  return schedule.weights.prediction.backward.empty() ? static_cast<std::int32_t>(place.predictions) : 1;
}

std::int32_t of_xpipe(const Schedule& schedule, const Method&, const MethodPlace& place) {
  const Prediction& ahead = schedule.weights.prediction;
  const std::size_t stage = index(place.stage);
  return (ahead.forward[stage] > 0 ? 1 : 0) + (ahead.backward[stage] > 0 ? 1 : 0);
}

std::int32_t of_pipeoptim(const Schedule&, const Method&, const MethodPlace& place) {
  return place.forward_ahead > 0 ? 1 : 0;
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

/// The true weights, and up to two moments of the optimizer.
std::int32_t always_three(const Schedule&, const Method&, const MethodPlace&) { return 3; }

struct BufferRule {
  std::string_view name;
  std::int32_t (*buffers)(const Schedule&, const Method&, const MethodPlace&);
};

/// Methods that are not named keep none.
constexpr std::array kRules{
    BufferRule{"t2", of_t2},
    BufferRule{"spectrain", of_spectrain},
    BufferRule{"xpipe", of_xpipe},
    BufferRule{"pipeoptim", of_pipeoptim},
    BufferRule{"msnag", of_late_forwards},
    BufferRule{"lwp", of_late_forwards},
    BufferRule{"gap-aware", always_one},
    BufferRule{"dc-asgd", of_compensation},
    BufferRule{"elastic", of_elastic},
    BufferRule{"wsp", of_wsp},
    BufferRule{"acco", always_three},
};

}  // namespace

std::int32_t buffers_of(const Method& method, const Schedule& schedule, const MethodPlace& place) {
  const auto rule = std::ranges::find(kRules, std::string_view(method.name), &BufferRule::name);
  return rule == kRules.end() ? 0 : rule->buffers(schedule, method, place);
}

std::vector<MethodPlace> method_places(const Schedule& schedule, const Program& program) {
  std::map<std::tuple<ReplicaId, StageId, DeviceId>, StageDelays> delays;
  for (StageDelays& of : stage_delays(schedule, program))
    delays.emplace(std::tuple(of.replica, of.stage, of.device), of);
  const bool steady = reaches_steady_state(schedule, program);
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
                      .distance = mean_delay(of.distance)});
    if (steady) continue;
    if (const std::optional<SteadyDelays> closed = steady_delays(schedule, holder.stage)) {
      places.back().forward = closed->forward;
      places.back().backward = closed->backward;
      places.back().recompute = closed->recompute;
      places.back().distance = closed->distance;
    }
  }
  count_predictions(schedule, program, places);
  return places;
}

void count_correction_buffers(const Schedule& schedule, Program& program) {
  check_methods(schedule);
  const std::int32_t teachers = program.has_teacher ? 1 : 0;
  for (Holder& holder : program.holders) {
    holder.correction_buffers = static_cast<std::int32_t>(schedule.weights.correction_buffers.size()) + teachers;
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
