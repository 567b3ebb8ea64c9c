#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/graphs/node_set.hpp"

namespace plumb {

/// Returns all sets of nodes of a directed acyclic graph that contain with a node everything before it: what the first
/// stages of a pipeline can hold. Ordered by number of nodes; the first is empty, the last is everything.
///
/// `before[k]` are the direct predecessors of node k, all smaller than k. Throws `Error` when there are more than
/// `most`.
std::vector<NodeSet> ideals(const std::vector<std::vector<std::int32_t>>& before, std::size_t most);

}  // namespace plumb
