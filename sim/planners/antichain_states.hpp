#pragma once

#include <cstdint>
#include <vector>

#include "models/layer_graph.hpp"
#include "models/node_set.hpp"

namespace plumb {

/// The places at which PipeDream's released program cuts a branching network: states, each an antichain of layers that
/// stands for itself and everything before it. A chain has one state per layer.
///
/// From an antichain, augmented by predecessors that still feed layers outside it, one member is replaced by one of its
/// successors when nothing in the augmented set lies behind that successor; members before others are dropped.
/// Not every set that is closed under predecessors is reached. States are ordered so that no later one lies before.
struct AntichainStates {
  std::vector<NodeSet> layers;  ///< by state: everything before and in it, as positions in the graph
  std::vector<double> compute_ns;
  std::vector<double> activation_bytes;
  std::vector<double> parameter_bytes;
  std::vector<double> output_bytes;  ///< of the augmented antichain
  std::vector<NodeSet> before;       ///< by state: the states that it can be reached from, without itself

  std::size_t size() const { return layers.size(); }
};

/// States of `graph` without sources named `Input...` and sinks named `__getitem__...`, as in the program. Throws
/// `Error` when there are more than `most`.
AntichainStates antichain_states(const LayerGraph& graph, std::size_t most);

}  // namespace plumb
