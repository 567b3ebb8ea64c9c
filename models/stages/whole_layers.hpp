#pragma once

#include <cstddef>
#include <vector>

#include "models/network/network.hpp"
#include "models/stages/partition.hpp"

namespace plumb {

/// Returns where systems that train transformers can begin a stage: at the embedding, at every decoder layer (a block
/// with attention and the MLP or experts behind it; in networks with Mamba layers every block), and behind the last
/// one, where further tokens, final norm and head follow together. Megatron-LM's layouts write these parts E, t and mL.
/// Ascending indices of `network.layers` from 0, and their number at the end. Networks of other kinds can be cut at
/// every layer.
std::vector<std::size_t> whole_layers(const Network& network);

/// Returns how many decoder layers there are; 0 in networks of other kinds.
std::size_t decoder_count(const Network& network);

/// Returns the network without its first `count` decoder layers, which must be fewer than there are: what is left to
/// compute where the outputs of these are known.
Network without_first_decoders(Network network, std::size_t count);

/// What a stage holds in terms of those parts.
struct LayerCounts {
  bool embedding = false;
  std::size_t decoders = 0;
  bool head = false;  ///< and what stands before it behind the last decoder layer

  friend bool operator==(const LayerCounts&, const LayerCounts&) = default;
};

/// Counts the layers of every stage of `partition`; empty where a stage begins elsewhere or `network` has no decoder
/// layers.
std::vector<LayerCounts> layer_counts(const Network& network, const Partition& partition);

}  // namespace plumb
