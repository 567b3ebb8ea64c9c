#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/network/layer_shape.hpp"

namespace plumb {

/// A layer of a chain whose residual blocks are opened up: what is computed, and from what.
struct FlowNode {
  static constexpr std::int32_t kNothing = -1;  ///< reads the data only, or has no second input
  static constexpr std::int32_t kOutside = -2;  ///< the value that comes from before the chain

  /// A layer; of an opened residual block the block itself, for its addition.
  const LayerSpec* layer = nullptr;
  std::int32_t input = kNothing;  ///< node
  std::int32_t from = kNothing;   ///< second input: node
  std::int32_t last_reader = -1;  ///< the last node that reads the output; -1: none
  std::int32_t readers = 0;       ///< how often the output is read
  bool needs_gradient = true;     ///< something that can be trained stands before the output, or may stand there

  /// Adds its two inputs: no arithmetic of its own, nothing kept.
  bool is_sum() const { return layer->kind == LayerKind::kAdd || layer->kind == LayerKind::kResidual; }
};

/// How values flow through a chain of layers. Nodes read earlier nodes only; node order is execution order. What
/// `input` and `from` of a layer name is resolved here, once.
struct Flow {
  std::vector<FlowNode> nodes;
  std::vector<std::size_t> begin;  ///< by layer of the chain: its first node; and the number of nodes
  const FlowNode& node(std::int32_t k) const { return nodes[static_cast<std::size_t>(k)]; }
};

/// `chain` must outlive the result. Throws `Error` when a layer names one that does not stand before it.
Flow open_chain(std::span<const LayerSpec> chain);

/// Has parameters; a layer that is one of "one weight-carrying layer per stage".
bool has_weights(const LayerSpec& layer);

/// Returns the embedding that a tied head shares its weight with: the last one. Null without.
const LayerSpec* last_embedding(std::span<const LayerSpec> chain);

/// Writes the network's residual blocks out as layers and additions, so that it may be cut inside them.
Network opened(const Network& network);

}  // namespace plumb
