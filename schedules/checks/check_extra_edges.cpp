#include <algorithm>
#include <set>
#include <string>
#include <tuple>

#include "schedules/checks/list_contents.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/document/walk.hpp"

namespace plumb {
namespace {

/// What an end of an edge is found by; a merged action is found by each of its microbatches.
using EdgeEnd = std::tuple<StageId, Op, MicrobatchId, ReplicaId, std::int16_t, std::int16_t>;

EdgeEnd edge_end(const Action& action) {
  return {action.stage, action.op, action.microbatch, action.replica, action.slice, action.where};
}

/// What an edge carries is there once, and travels from an X of one device to an X of another.
void check_carried(const Schedule& schedule, const ExtraEdge& edge, Findings& findings) {
  if (!edge.carries()) return;
  const bool both = edge.before.op == Op::kX && edge.after.op == Op::kX;
  if (!both) {
    const Action& other = edge.before.op == Op::kX ? edge.after : edge.before;
    findings.add(0, 0, to_string(other), "extra_edges carry weights or gradients here; expected X at both ends");
  }
  for (const auto* stages : {&edge.weights, &edge.gradients}) {
    for (const StageId stage : *stages) {
      if (static_cast<std::int32_t>(stage) < schedule.num_stages) continue;
      findings.add(0, 0, to_string(edge.before),
                   "extra_edges carry stage " + std::to_string(index(stage)) + "; expected at most " +
                       std::to_string(schedule.num_stages - 1));
    }
  }
}

/// Only these stand once in a list.
bool may_have_edges(const Action& action) {
  return is_compute(action.op) || (is_move(action.op) && static_cast<std::int32_t>(action.microbatch) >= 0);
}

}  // namespace

void check_extra_edges(const Schedule& schedule, Findings& findings) {
  if (schedule.extra_edges.empty()) return;
  std::set<EdgeEnd> missing;
  for (const ExtraEdge& edge : schedule.extra_edges) {
    check_carried(schedule, edge, findings);
    for (const Action& end : {edge.before, edge.after}) {
      if (may_have_edges(end)) {
        missing.insert(edge_end(end));
      } else {
        findings.add(0, 0, to_string(end), "extra_edges name it; expected an action that computes or moves a stash");
      }
    }
  }
  for (const DeviceList& list : schedule.devices) {
    walk(list, [&](const Action& action) {
      Action one = action;
      for (std::int32_t i = 0; i <= action.merged; ++i) {
        missing.erase(edge_end(one));
        one.microbatch = MicrobatchId{static_cast<std::int32_t>(one.microbatch) + 1};
      }
    });
  }
  for (const ExtraEdge& edge : schedule.extra_edges) {
    for (const Action& end : {edge.before, edge.after}) {
      if (missing.erase(edge_end(end)) == 0) continue;
      findings.add(0, 0, to_string(end), "extra_edges name it, but it is in no list");
    }
  }
}

}  // namespace plumb
