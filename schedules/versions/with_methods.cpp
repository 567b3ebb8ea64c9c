#include <algorithm>
#include <string>
#include <utility>

#include "models/ground/error.hpp"
#include "schedules/document/methods.hpp"
#include "schedules/versions/prediction.hpp"
#include "schedules/versions/synchronous_phase.hpp"

namespace plumb {
namespace {

[[noreturn]] void refuse(const Schedule& schedule, const Method& method, const std::string& why) {
  throw Error("schedule '" + schedule.name + "': method " + method.name + ": " + why);
}

bool any_policy(const Schedule& schedule, bool (*is)(WeightPolicy)) {
  for (std::int32_t stage = 0; stage < schedule.num_stages; ++stage) {
    if (is(schedule.policy_of(StageId{stage}))) return true;
  }
  return false;
}

bool is_synchronous(const Schedule& schedule) {
  return !any_policy(schedule, [](WeightPolicy policy) { return policy != WeightPolicy::kFlush; });
}

/// The backward reads the very weights of its forward.
bool keeps_weights(WeightPolicy policy) {
  return policy != WeightPolicy::kFlush && policy != WeightPolicy::kLatest && policy != WeightPolicy::kPredicted;
}

bool moves_weights(const Schedule& schedule) {
  const auto moves = [](const Action& action) { return is_move(action.op) && static_cast<int>(action.microbatch) < 0; };
  return std::ranges::any_of(schedule.devices,
                             [&](const DeviceList& list) { return std::ranges::any_of(list.actions, moves); });
}

/// A stage runs a forward and a backward at once, as PipeMare's do.
bool in_slots(const Schedule& schedule) {
  const auto timing = schedule.parameters.find("timing");
  return timing != schedule.parameters.end() && timing->second == Schedule::Parameter(std::string("slots"));
}

/// The distances of `method` for stage r of p, m microbatches per update: the published ones, or those of the same
/// moments in slots.
Prediction published(const Schedule& schedule, const Method& method) {
  Prediction ahead;
  const std::int32_t p = schedule.num_stages;
  const bool released = method.name != "xpipe" && *parameter(method, "released") == 1;
  ahead.once_per_update = method.name == "xpipe";
  const bool slots = in_slots(schedule) && parameter(method, "published").value_or(0) == 0;
  for (std::int32_t r = 0; r < p; ++r) {
    const std::int64_t m = schedule.per_update(StageId{r});
    if (method.name == "xpipe") {
      ahead.forward.push_back(slots ? xpipe_forward_in_slots(p, m, r) : xpipe_forward(p, m, r));
      ahead.backward.push_back(slots ? xpipe_backward_in_slots(m, r) : xpipe_backward(m, r));
    } else if (method.name == "pipeoptim") {
      ahead.forward.push_back(own_backward_steps(p, r) + (released ? 1 : 0));
      ahead.backward.push_back(0);
    } else if (released) {
      ahead.forward.push_back(own_backward_steps(p, r));
    } else if (slots) {
      ahead.forward.push_back(own_backward_steps(p, r) + spectrain_backward_in_slots(r));
      ahead.backward.push_back(spectrain_backward_in_slots(r));
    } else {
      ahead.forward.push_back(spectrain_forward(p, r));
      ahead.backward.push_back(spectrain_backward(r));
    }
  }
  return ahead;
}

/// What goes with a method besides its name.
void prepare(Schedule& schedule, const Method& method) {
  if (!method_spec(method.name).scope.predicts) return;
  schedule.weights.policy = WeightPolicy::kPredicted;
  schedule.weights.per_stage.clear();
  if (schedule.weights.prediction.forward.empty()) schedule.weights.prediction = published(schedule, method);
}

void check_scope(const Schedule& schedule, const Method& method) {
  const MethodScope& scope = method_spec(method.name).scope;
  if (scope.newest_backward && any_policy(schedule, keeps_weights)) {
    refuse(schedule, method, "a backward reads the weights of its forward already; expected the policy latest");
  }
  if ((scope.forward || scope.backward) && moves_weights(schedule)) {
    refuse(schedule, method, "the weights are moved away in between; expected no EVICT or LOAD of weights");
  }
}

void check_pair(const Schedule& schedule, const Method& one, const Method& other) {
  const MethodScope& a = method_spec(one.name).scope;
  const MethodScope& b = method_spec(other.name).scope;
  const std::string both = "and " + other.name + " ";
  if (one.name == other.name) refuse(schedule, one, "is named twice; expected once");
  if (a.forward && b.forward) refuse(schedule, one, both + "both choose the weights of forwards; expected one of them");
  if (a.backward && b.backward) {
    refuse(schedule, one, both + "both choose the weights of backwards; expected one of them");
  }
  if ((a.forward && b.newest_forward) || (b.forward && a.newest_forward)) {
    refuse(
        schedule, one,
        both + "contradict each other: one predicts what the other takes for the newest weights; expected one of them");
  }
}

}  // namespace

void check_methods(const Schedule& schedule) {
  const std::vector<Method>& methods = schedule.weights.methods;
  for (std::size_t i = 0; i < methods.size(); ++i) {
    check_parameters(methods[i]);
    if (schedule.forward_only) refuse(schedule, methods[i], "nothing is trained; expected mode training");
    if (is_synchronous(schedule)) refuse(schedule, methods[i], "nothing is stale; expected an asynchronous schedule");
    check_scope(schedule, methods[i]);
    if (method_spec(methods[i].name).scope.predicts && schedule.weights.prediction.forward.empty()) {
      refuse(schedule, methods[i], "how far each stage looks ahead is not said; expected a prediction");
    }
    if (methods[i].name == "t3") refuse(schedule, methods[i], "is the order itself; expected a phase of the document");
    for (std::size_t k = 0; k < i; ++k) check_pair(schedule, methods[k], methods[i]);
  }
}

Schedule with_methods(Schedule schedule, std::span<const Method> methods) {
  for (const Method& method : methods) {
    check_parameters(method);
    if (is_synchronous(schedule)) refuse(schedule, method, "nothing is stale; expected an asynchronous schedule");
    if (method.name == "t3") {
      schedule = with_synchronous_phase(std::move(schedule), static_cast<std::int64_t>(*parameter(method, "updates")));
      continue;
    }
    check_scope(schedule, method);
    prepare(schedule, method);
    schedule.weights.methods.push_back(method);
  }
  check_methods(schedule);
  return schedule;
}

Schedule with_methods(Schedule schedule, std::string_view methods) {
  const std::vector<Method> parsed = parse_methods(methods);
  return with_methods(std::move(schedule), parsed);
}

}  // namespace plumb
