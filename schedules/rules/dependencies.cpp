#include "schedules/rules/dependencies.hpp"

#include <algorithm>

#include "schedules/rules/dependency_rules.hpp"

namespace plumb {
namespace {

bool recomputes_explicitly(const Schedule& schedule, const Action& action) {
  const auto is_recompute = [&](const Action& other) {
    return other.op == Op::kR && other.stage == action.stage && other.replica == action.replica;
  };
  return std::any_of(schedule.devices.begin(), schedule.devices.end(), [&](const DeviceList& list) {
    return std::any_of(list.actions.begin(), list.actions.end(), is_recompute);
  });
}

}  // namespace

std::vector<Dependency> dependencies(const Schedule& schedule, const Action& action) {
  const bool recomputes = is_backward(action.op) && recomputes_explicitly(schedule, action);
  std::vector<Dependency> found;
  DependencyRules(schedule).for_each(action, [&](const Action& needed, DependencyKind kind) {
    if (needed.op != Op::kR || recomputes || action.op == Op::kR) found.push_back({needed, kind});
  });
  Action bare = action;
  bare.overlaps_next = 0;
  for (const ExtraEdge& edge : schedule.extra_edges) {
    if (edge.after == bare) found.push_back({edge.before, DependencyKind::kExtra});
  }
  return found;
}

}  // namespace plumb
