#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/graphs/layer_graph.hpp"

namespace plumb {

/// A node of dnn-partitioning's input: an operator, or its gradient.
struct PlacementNode {
  std::int64_t id = 0;
  std::string name;
  std::int64_t accelerator_ns = 0;
  std::int64_t cpu_ns = 0;
  std::int64_t bytes = 0;        ///< bytes of accelerator memory
  std::int64_t transfer_ns = 0;  ///< to bring the output between an accelerator and host memory
  std::int64_t colour = 0;       ///< nodes of one colour share a device
  bool on_accelerator = true;    ///< may run on one
  bool backward = false;

  friend bool operator==(const PlacementNode&, const PlacementNode&) = default;
};

/// Operators to be placed on accelerators and CPUs (Tarnawski et al., NeurIPS 2020): forward and backward apart.
struct PlacementGraph {
  std::string name;
  std::int64_t accelerator_bytes = 0;  ///< memory of one
  std::int32_t accelerators = 0;
  std::int32_t cpus = 0;
  std::vector<PlacementNode> nodes;                          ///< in topological order
  std::vector<std::pair<std::int32_t, std::int32_t>> edges;  ///< positions, sorted, each once
  std::vector<std::int64_t> edge_bytes;                      ///< by edge

  friend bool operator==(const PlacementGraph&, const PlacementGraph&) = default;
};

/// Reads dnn-partitioning JSON. Times are milliseconds there. A missing colour is one of its own. Throws `Error` with
/// line, column and path for broken JSON, unknown keys, repeated ids, edges between unknown nodes, out-edges of one
/// node that differ in cost, and cycles.
PlacementGraph placement_graph_from_json(std::string_view text, std::string_view file_name);

/// Forward operators as layers: the backward time is that of the backward nodes of the same colour (of the last forward
/// node that has it), orphan backward nodes become layers without forward.
LayerGraph layers_of(const PlacementGraph& graph);

}  // namespace plumb
