#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/timeline/timeline.hpp"

namespace plumb {

// A replay runs the order of one timeline once more with times of another one: what would this prediction be with the
// durations that were measured? It needs nothing but the two timelines.

/// What takes time in a replay.
enum class ReplayKind : std::uint8_t {
  kDuration,  ///< an action itself
  kHost,      ///< the runtime between two actions of a device, or between an action and the call that sends its result
  kMessage,   ///< a message, from that call until the action that needs it can start; waiting for an own send
  kWait,      ///< a wait for something else: a collective, a copy
};

inline constexpr std::size_t kReplayKindCount = 4;

/// Nanoseconds by `ReplayKind`.
using ReplayTimes = std::array<std::int64_t, kReplayKindCount>;

/// One action of a compute lane, or several that overlap (a pair).
struct ReplayUnit {
  DeviceId device{};
  bool first = false;      ///< whether it is the first of its device
  std::size_t member = 0;  ///< its actions: into `ReplayGraph::members`
  std::size_t behind = 0;
  std::size_t edge = 0;  ///< values that it needs from other devices: into `ReplayGraph::edges`
  std::size_t edges_end = 0;
};

/// A unit that takes a value of a unit on another device.
struct ReplayEdge {
  std::size_t maker = 0;
  std::size_t taker = 0;
};

/// Who waits for whom: lanes, and F for F of the stage before, B and I for the gradient of the stage after. All vectors
/// are dense; spans are those of the timeline that it was made from, which must outlive it.
struct ReplayGraph {
  std::vector<ReplayUnit> units;     ///< by device, then start
  std::vector<const Span*> members;  ///< spans of the compute lanes
  std::vector<ReplayEdge> edges;     ///< by taker
  std::vector<std::size_t> order;  ///< units in an order in which everything that one waits for comes before it; empty
                                   ///< where the timeline has no spans, or contradicts itself
};

/// Returns the order of a timeline. A value that a timeline itself did not wait for is no edge.
ReplayGraph replay_graph(const Timeline& timeline);

/// Times for a graph: a unit starts `lag` after the unit before it in its lane, and `hop` after each unit that gives
/// it a value, whichever is later.
struct ReplayInputs {
  std::vector<ReplayTimes> units;  ///< duration, and the lag before it by kind
  std::vector<ReplayTimes> hops;   ///< by edge; no duration
  std::vector<bool> lag_seen;      ///< by unit: it started because of its lane, so that its lag is what it was
  std::vector<bool> hop_seen;      ///< by edge: the unit started because of it; other hops are assumed
  std::vector<bool> unknown;  ///< by unit: its device is not known, so that its times are a prediction's; empty: none
  std::int64_t tail_ns = 0;   ///< after the last unit, up to the makespan
};

/// Returns when each unit starts.
std::vector<std::int64_t> replay_starts(const ReplayGraph& graph, const ReplayInputs& inputs);

/// The moment that a replay is asked for: the latest end of some units, plus the tail if `with_tail`.
struct ReplayTarget {
  std::vector<std::size_t> units;
  bool with_tail = false;
};

/// What a change of times changed at a target, by the unit whose time it is (for a hop, the one that waits): how much
/// later it is because of that unit, in nanoseconds. Adds up to `after - before`.
struct ReplayChange {
  double before_ns = 0;
  double after_ns = 0;
  std::vector<double> by_unit;
};

/// Replays `graph` with `from` and with `to`.
///
/// The change is given to units by turning one into the other evenly: at every moment of that, only times on the
/// longest path count (the integral of Aumann and Shapley). The end is piecewise linear in it, so the sum is exact.
ReplayChange replay_change(const ReplayGraph& graph, const ReplayInputs& from, const ReplayInputs& to,
                           const ReplayTarget& target);

}  // namespace plumb
