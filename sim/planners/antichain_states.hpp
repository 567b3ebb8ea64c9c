#pragma once

#include <cstdint>
#include <vector>

#include "models/graphs/layer_graph.hpp"
#include "models/graphs/node_set.hpp"

namespace plumb {

/// The places at which PipeDream's released program cuts a branching network: states, each an antichain of layers that
/// stands for itself and everything before it. A chain has one state per layer.
///
/// From an antichain, augmented by predecessors that still feed layers outside it, one member is replaced by one of its
/// successors when nothing in the augmented set lies after that successor; members before others are dropped.
/// Not every set that is closed under predecessors is reached. States are ordered so that no later one lies before.
struct AntichainStates {
  std::vector<NodeSet> layers;  ///< by state: everything before and in it, as positions in the graph
  std::vector<double> compute_ns;
  std::vector<double> activation_bytes;
  std::vector<double> parameter_bytes;
  std::vector<double> output_bytes;              ///< of the augmented antichain
  std::vector<std::vector<std::int32_t>> steps;  ///< by state: those one step in front of it

  std::size_t size() const { return layers.size(); }
};

/// By state: all states that it can be reached from, without itself.
std::vector<NodeSet> states_before(const AntichainStates& states);

/// States of `graph` without sources named `Input...` and sinks named `__getitem__...`, as in the program. Throws
/// `Error` when there are more than `most`.
AntichainStates antichain_states(const LayerGraph& graph, std::size_t most);

/// The same for every set of layers that is closed under predecessors: all cuts that there are, of the whole graph
/// without what loads data. The output of a state is what is read after it.
AntichainStates ideal_states(const LayerGraph& graph, std::size_t most);

}  // namespace plumb
