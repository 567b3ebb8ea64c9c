#pragma once

#include <cstdint>
#include <vector>

#include "models/graphs/node_set.hpp"
#include "models/import/placement_graph.hpp"

namespace plumb {

/// Operators that must share a device, as one: forward and backward nodes of a colour, and of colours that depend on
/// each other in a cycle. Blocks are in topological order of the forward graph.
struct PlacementBlock {
  std::vector<std::int32_t> nodes;  ///< of the placement graph
  std::int64_t accelerator_ns = 0;
  std::int64_t cpu_ns = 0;
  std::int64_t bytes = 0;
  bool on_accelerator = true;
};

/// An output that costs `transfer_ns` on every accelerator that holds some, but not all, of `blocks`: the block that
/// makes it and those that read it.
struct PlacementOutput {
  NodeSet blocks;
  std::int64_t transfer_ns = 0;
};

struct PlacementBlocks {
  std::vector<PlacementBlock> blocks;
  std::vector<std::vector<std::int32_t>> before;  ///< by block: direct predecessors in the forward graph
  std::vector<PlacementOutput> outputs;           ///< that cost something and leave their block
};

/// The preprocessing of dnn-partitioning (Tarnawski et al., NeurIPS 2020): forward nodes of a colour become one block
/// and take their backward nodes along; a colour without forward nodes gets a block of its own, ordered against its
/// backward edges; cycles of blocks are fused; sinks that take no time join the only block that they read.
PlacementBlocks placement_blocks(const PlacementGraph& graph);

}  // namespace plumb
