#include <algorithm>
#include <tuple>

#include "schedules/program/lane_run.hpp"
#include "sim/comparison/replay.hpp"

namespace plumb {
namespace {

/// A value by what it is: the output of a stage's forward, or its input gradient.
using ValueKey = std::tuple<ReplicaId, std::int64_t, bool, std::int64_t, std::int16_t>;

ValueKey value_of(const Action& action, int stage_shift, int merged) {
  return {action.replica, static_cast<std::int64_t>(action.stage) + stage_shift, is_backward(action.op),
          static_cast<std::int64_t>(action.microbatch) + merged, action.slice};
}

bool gives_value(Op op) { return op == Op::kF || is_backward(op); }

/// Units in order of device and start; members of a pair overlap.
void add_units(const Timeline& timeline, ReplayGraph& graph) {
  for (const Span& span : timeline.spans) {
    if (span.lane != Lane::kCompute) continue;
    const bool first = graph.units.empty() || graph.units.back().device != span.device;
    const bool joins = !first && span.start < graph.members.back()->end && graph.members.back()->start < span.end;
    graph.members.push_back(&span);
    if (!joins) graph.units.push_back({.device = span.device, .first = first, .member = graph.members.size() - 1});
    graph.units.back().behind = graph.members.size();
  }
}

/// Returns all that makes a value, so that takers find it.
std::vector<std::pair<ValueKey, std::size_t>> makers_of(const ReplayGraph& graph) {
  std::vector<std::pair<ValueKey, std::size_t>> makers;
  for (std::size_t unit = 0; unit < graph.units.size(); ++unit) {
    for (std::size_t m = graph.units[unit].member; m < graph.units[unit].behind; ++m) {
      const Action& action = graph.members[m]->action;
      if (!gives_value(action.op)) continue;
      for (int merged = 0; merged <= action.merged; ++merged) makers.emplace_back(value_of(action, 0, merged), unit);
    }
  }
  std::ranges::sort(makers);
  return makers;
}

std::int64_t end_of(const ReplayGraph& graph, const ReplayUnit& unit) {
  std::int64_t end = 0;
  for (std::size_t m = unit.member; m < unit.behind; ++m) end = std::max(end, graph.members[m]->end);
  return end;
}

void add_edges(ReplayGraph& graph) {
  const auto makers = makers_of(graph);
  for (ReplayUnit& unit : graph.units) {
    unit.edge = graph.edges.size();
    for (std::size_t m = unit.member; m < unit.behind; ++m) {
      const Action& action = graph.members[m]->action;
      if (!gives_value(action.op)) continue;
      for (int merged = 0; merged <= action.merged; ++merged) {
        const ValueKey key = value_of(action, action.op == Op::kF ? -1 : 1, merged);
        const auto found = std::ranges::lower_bound(makers, std::pair(key, std::size_t{0}));
        if (found == makers.end() || found->first != key) continue;
        const ReplayUnit& maker = graph.units[found->second];
        // What began before the maker's end did not need it: stages need not form a chain.
        if (maker.device == unit.device || end_of(graph, maker) > graph.members[unit.member]->start) continue;
        graph.edges.push_back({found->second, static_cast<std::size_t>(&unit - graph.units.data())});
      }
    }
    unit.edges_end = graph.edges.size();
  }
}

/// Goes along all lanes at once, each as far as it gets.
void add_order(ReplayGraph& graph) {
  struct LanePlace {
    std::size_t next = 0;
    std::size_t end = 0;
  };
  std::vector<LanePlace> lanes;
  for (std::size_t unit = 0; unit < graph.units.size(); ++unit) {
    if (graph.units[unit].first) lanes.push_back({unit, unit});
    lanes.back().end = unit + 1;
  }
  std::vector<bool> done(graph.units.size(), false);
  const auto ready = [&](const ReplayUnit& unit) {
    for (std::size_t edge = unit.edge; edge < unit.edges_end; ++edge) {
      if (!done[graph.edges[edge].maker]) return false;
    }
    return true;
  };
  run_in_turns(lanes.size(), [&](std::size_t number) {
    LanePlace& lane = lanes[number];
    if (lane.next == lane.end || !ready(graph.units[lane.next])) return false;
    done[lane.next] = true;
    graph.order.push_back(lane.next++);
    return true;
  });
  if (graph.order.size() != graph.units.size()) graph.order.clear();
}

}  // namespace

ReplayGraph replay_graph(const Timeline& timeline) {
  ReplayGraph graph;
  add_units(timeline, graph);
  add_edges(graph);
  add_order(graph);
  return graph;
}

}  // namespace plumb
