#include "sim/comparison/replay.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace plumb {
namespace {

constexpr std::size_t kNoUnit = std::numeric_limits<std::size_t>::max();
/// Bends that lie deeper are not looked for: shares of single units are then a little off, their sum is not.
constexpr int kMostHalvings = 10;

std::int64_t lag_of(const ReplayTimes& times) {
  std::int64_t sum = 0;
  for (std::size_t kind = 1; kind < kReplayKindCount; ++kind) sum += times[kind];
  return sum;
}

/// Times that change evenly from one state to another one.
struct LinearChange {
  std::vector<double> from;
  std::vector<double> change;

  double at(std::size_t i, double share) const { return from[i] + share * change[i]; }
};

/// Returns how times change from `of_from[i]` to `of_to[i]`, by `value`.
template <class Value>
LinearChange change_of(const std::vector<ReplayTimes>& of_from, const std::vector<ReplayTimes>& of_to, Value value) {
  LinearChange made;
  for (std::size_t i = 0; i < of_from.size(); ++i) {
    made.from.push_back(static_cast<double>(value(of_from[i])));
    made.change.push_back(static_cast<double>(value(of_to[i]) - value(of_from[i])));
  }
  return made;
}

/// The longest path at one moment of the change: how long it is, and what its times change by.
struct LongestPath {
  double length = 0;
  double slope = 0;
  std::vector<std::pair<std::size_t, double>> changes;  ///< unit, nanoseconds over the whole change
};

/// A moment of the change, and the longest path then.
struct PathAt {
  double moment = 0;
  const LongestPath& path;
};

class Changing {
 public:
  Changing(const ReplayGraph& graph, const ReplayInputs& from, const ReplayInputs& to, const ReplayTarget& target)
      : graph_(graph),
        target_(target),
        duration_(change_of(from.units, to.units, [](const ReplayTimes& times) { return times.front(); })),
        lag_(change_of(from.units, to.units, lag_of)),
        hop_(change_of(from.hops, to.hops, lag_of)),
        tail_{{static_cast<double>(from.tail_ns)}, {static_cast<double>(to.tail_ns - from.tail_ns)}},
        end_(graph.units.size()),
        via_(graph.units.size()) {}

  LongestPath path(double share) {
    replay(share);
    std::size_t at = kNoUnit;
    for (const std::size_t unit : target_.units) {
      if (at == kNoUnit || end_[unit] > end_[at]) at = unit;
    }
    LongestPath path;
    if (at == kNoUnit) return path;
    path.length = end_[at];
    if (target_.with_tail) {
      path.length += tail_.at(0, share);
      path.slope += tail_.change[0];
    }
    const auto add = [&](std::size_t unit, double change) {
      if (change == 0) return;
      path.slope += change;
      path.changes.emplace_back(unit, change);
    };
    while (at != kNoUnit) {
      add(at, duration_.change[at]);
      const std::size_t edge = via_[at];
      add(at, edge == kNoUnit ? lag_.change[at] : hop_.change[edge]);
      at = edge != kNoUnit ? graph_.edges[edge].maker : graph_.units[at].first ? kNoUnit : at - 1;
    }
    return path;
  }

  /// Gives the change between two moments to the units on the longest paths there.
  void spread(const PathAt& from, const PathAt& to, int halvings, std::vector<double>& by_unit) {
    const auto& [low, at_low] = from;
    const auto& [high, at_high] = to;
    const double bend = at_high.slope - at_low.slope;
    // Lines that meet at an end are one line for the whole interval.
    double meet =
        bend == 0 ? high : (at_low.length - at_low.slope * low - at_high.length + at_high.slope * high) / bend;
    meet = std::clamp(meet, low, high);
    const auto give = [&](const LongestPath& path, double share) {
      for (const auto& [unit, change] : path.changes) by_unit[unit] += share * change;
    };
    if (meet > low && meet < high && halvings < kMostHalvings) {
      const LongestPath middle = path(meet);
      constexpr double kRounding = 1e-3;  // of a nanosecond
      if (middle.length > at_low.length + at_low.slope * (meet - low) + kRounding) {
        spread(from, {meet, middle}, halvings + 1, by_unit);
        spread({meet, middle}, to, halvings + 1, by_unit);
        return;
      }
    }
    give(at_low, meet - low);
    give(at_high, high - meet);
  }

 private:
  void replay(double share) {
    for (const std::size_t at : graph_.order) {
      const ReplayUnit& unit = graph_.units[at];
      double start = (unit.first ? 0 : end_[at - 1]) + lag_.at(at, share);
      via_[at] = kNoUnit;
      for (std::size_t edge = unit.edge; edge < unit.edges_end; ++edge) {
        const double arrival = end_[graph_.edges[edge].maker] + hop_.at(edge, share);
        if (arrival <= start) continue;
        start = arrival;
        via_[at] = edge;
      }
      end_[at] = start + duration_.at(at, share);
    }
  }

  const ReplayGraph& graph_;
  const ReplayTarget& target_;
  LinearChange duration_;
  LinearChange lag_;
  LinearChange hop_;
  LinearChange tail_;
  std::vector<double> end_;
  std::vector<std::size_t> via_;  ///< the edge that a unit waited for last; `kNoUnit`: its lane
};

}  // namespace

std::vector<std::int64_t> replay_starts(const ReplayGraph& graph, const ReplayInputs& inputs) {
  std::vector<std::int64_t> starts(graph.units.size(), 0);
  const auto end = [&](std::size_t at) { return starts[at] + inputs.units[at].front(); };
  for (const std::size_t at : graph.order) {
    const ReplayUnit& unit = graph.units[at];
    starts[at] = (unit.first ? 0 : end(at - 1)) + lag_of(inputs.units[at]);
    for (std::size_t edge = unit.edge; edge < unit.edges_end; ++edge) {
      starts[at] = std::max(starts[at], end(graph.edges[edge].maker) + lag_of(inputs.hops[edge]));
    }
  }
  return starts;
}

ReplayChange replay_change(const ReplayGraph& graph, const ReplayInputs& from, const ReplayInputs& to,
                           const ReplayTarget& target) {
  Changing changing(graph, from, to, target);
  const LongestPath before = changing.path(0);
  const LongestPath after = changing.path(1);
  ReplayChange change{before.length, after.length, std::vector<double>(graph.units.size(), 0)};
  changing.spread({0, before}, {1, after}, 0, change.by_unit);
  return change;
}

}  // namespace plumb
