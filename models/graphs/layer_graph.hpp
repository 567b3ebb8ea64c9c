#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plumb {

/// One layer (or operator) of a measured network, for one microbatch of the size that was measured.
struct LayerNode {
  std::string id;    ///< as in the file
  std::string name;  ///< description; may be any text
  std::int64_t forward_ns = 0;
  std::int64_t backward_ns = 0;  ///< time of the whole backward (I and W together)
  std::int64_t output_bytes = 0;
  std::int64_t parameter_bytes = 0;
  std::int64_t stash_bytes = 0;  ///< kept between forward and backward
  bool loads_data = false;       ///< its time is that of the input pipeline: planners leave it out

  std::int64_t total_ns() const { return forward_ns + backward_ns; }
  friend bool operator==(const LayerNode&, const LayerNode&) = default;
};

/// `to` reads the output of `from`; both are positions in `LayerGraph::nodes`.
struct LayerEdge {
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::int64_t bytes = 0;  ///< bytes that travel when the two are apart (the gradient back is as large)

  friend auto operator<=>(const LayerEdge&, const LayerEdge&) = default;
};

/// A measured network as people publish it: layers with times and sizes, branching freely.
///
/// Nodes are in topological order, edges are sorted and lead forward; there are no two edges between the same nodes.
/// `models/graphs/layer_chain.hpp` makes a chain of it, and a `Network` that can be simulated.
struct LayerGraph {
  std::string name;
  std::string source;
  std::int64_t samples = 1;  ///< per microbatch
  std::vector<LayerNode> nodes;
  std::vector<LayerEdge> edges;

  std::size_t size() const { return nodes.size(); }
  friend bool operator==(const LayerGraph&, const LayerGraph&) = default;
};

/// The nodes that each node reads (`before`) and that read it (`after`), as ascending positions.
struct Neighbours {
  std::vector<std::vector<std::int32_t>> before;
  std::vector<std::vector<std::int32_t>> after;
};
Neighbours neighbours(const LayerGraph& graph);

/// Returns a topological order of the nodes 0 .. `count` - 1: the smallest one that the edges allow. Throws `Error`
/// that begins with `where` and names the nodes of a cycle by `name_of`.
std::vector<std::int32_t> topological_order(std::size_t count,
                                            const std::vector<std::pair<std::int32_t, std::int32_t>>& edges,
                                            const std::vector<std::string>& name_of, std::string_view where);

/// Brings `graph`, whose edges may lead anywhere, into the order that `LayerGraph` promises; repeated edges become one.
/// Throws `Error` beginning with `where` for a cycle.
void put_in_order(LayerGraph& graph, std::string_view where);

/// Sums over all nodes that do not load data.
struct LayerTotals {
  std::int64_t forward_ns = 0;
  std::int64_t backward_ns = 0;
  std::int64_t parameter_bytes = 0;
};
LayerTotals totals(const LayerGraph& graph);

/// `graph` without the nodes that `dropped` marks (by position); edges over them are gone, too.
LayerGraph without(const LayerGraph& graph, const std::vector<bool>& dropped);

}  // namespace plumb
