#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plumb {

inline constexpr std::int64_t kNsPerMillisecond = 1'000'000;

enum class NodeEventKind : std::uint8_t { kAdd, kSlow, kRemove };

/// A node comes, goes, or changes its speed.
struct NodeEvent {
  std::int64_t at_ns = 0;
  NodeEventKind kind = NodeEventKind::kAdd;
  std::int32_t node = 0;  ///< into `NodeTrace::names`; a node that went may come again
  double factor = 1;      ///< kSlow: how much longer its work takes from now on

  friend bool operator==(const NodeEvent&, const NodeEvent&) = default;
};

/// When nodes came and went, recorded or drawn.
struct NodeTrace {
  std::vector<std::string> names;
  std::vector<NodeEvent> events;  ///< ascending in time, those of one moment in the order of the record

  friend bool operator==(const NodeTrace&, const NodeTrace&) = default;
};

/// Returns a record in one of two formats, told apart by its first character. Lines `milliseconds,add|remove,node` and
/// `milliseconds,slow,node,factor`, as Bamboo's traces; or JSON `{"metadata": {"gap_seconds": 300}, "data": [3, 4]}`,
/// how many nodes there were at every tick, as SkyPilot's: of nodes that go, those that were there longest go first.
/// Throws `Error` with the line for what cannot be: time that runs backwards, a node that comes twice or goes without
/// having come.
NodeTrace node_trace_from_text(const std::string& text, const std::string& file_name);

/// Returns the lines of a trace whose times are whole milliseconds.
std::string node_trace_to_text(const NodeTrace& trace);

/// Returns the most nodes that were there at once.
std::int32_t most_nodes_of(const NodeTrace& trace);

/// Nodes that fail at random, each replaced at once.
struct RandomFailures {
  std::int32_t nodes = 1;
  std::int64_t mean_ns = 0;   ///< mean of the exponential life of a node
  std::int64_t ready_ns = 0;  ///< from being added to being ready; a node that is being made does not fail
  std::int64_t until_ns = 0;
  std::uint64_t seed = 1;
};
NodeTrace random_failures(const RandomFailures& failures);

/// Nodes that the market takes and gives, hour by hour, as Bamboo's generator does: in every hour each node that is
/// there is taken with the probability `taken`, and each that is missing is given with `given`, at a uniform second.
struct RandomMarket {
  std::int32_t nodes = 1;  ///< wanted, and there at the start
  double taken = 0;
  double given = 0;
  std::int64_t until_ns = 0;
  std::uint64_t seed = 1;
};
NodeTrace random_market(const RandomMarket& market);

/// Takes events as Parcae's program does: it makes intervals of the distinct seconds of a trace, fills longer
/// gaps with intervals of their own, and counts each as `interval_ns` long; events come at their beginnings.
/// `end_ns`: of the last interval.
NodeTrace in_intervals(const NodeTrace& trace, std::int64_t interval_ns, std::int64_t& end_ns);

}  // namespace plumb
