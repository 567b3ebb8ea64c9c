#pragma once

#include <cstdint>
#include <vector>

#include "models/costs/stage_costs.hpp"
#include "models/graphs/layer_graph.hpp"
#include "models/network/network.hpp"

namespace plumb {

/// A layer graph laid out as a chain in its topological order: what planners of contiguous layers work on. Prefix sums
/// have one entry more than there are layers, so that layers [i, j) cost `x[j] - x[i]`.
struct LayerChain {
  std::vector<std::int32_t> node;              ///< nodes of the graph, by position; nodes that load data are left out
  std::vector<std::int64_t> forward_ns;        ///< sums
  std::vector<std::int64_t> backward_ns;       ///< sums
  std::vector<std::int64_t> parameter_bytes;   ///< sums
  std::vector<std::int64_t> activation_bytes;  ///< sums of outputs: what is kept for the backward
  /// Bytes over the cut before position k: outputs made before k and read at k or after, each once. 0 at both ends.
  std::vector<std::int64_t> cut_bytes;

  std::size_t size() const { return node.size(); }
  std::int64_t forward(std::size_t begin, std::size_t end) const { return forward_ns[end] - forward_ns[begin]; }
  std::int64_t backward(std::size_t begin, std::size_t end) const { return backward_ns[end] - backward_ns[begin]; }
  std::int64_t total(std::size_t begin, std::size_t end) const { return forward(begin, end) + backward(begin, end); }
  std::int64_t parameters(std::size_t begin, std::size_t end) const {
    return parameter_bytes[end] - parameter_bytes[begin];
  }
  std::int64_t activations(std::size_t begin, std::size_t end) const {
    return activation_bytes[end] - activation_bytes[begin];
  }
};

/// Returns the chain of `graph`. Throws `Error` when nothing is left.
LayerChain chain_of(const LayerGraph& graph);

/// Returns a network of `profiled` layers, one per node of the chain: simulated like any other. The output of a layer
/// is what crosses the cut after it; half of the backward is I, half W (as where only B is given).
Network network_of(const LayerGraph& graph);

/// Returns the chain of `network` as a graph: one node per layer, with the costs of `layers`, a partition of one layer
/// per stage
/// (`job_costs`, `profile_costs`).
LayerGraph graph_of(const Network& network, const StageCosts& layers);

}  // namespace plumb
