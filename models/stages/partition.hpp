#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/network/network.hpp"
#include "models/stages/stage_layout.hpp"

namespace plumb {

/// A chain of layers cut into stages. The first and the last stage have layers; another one without any hands on what
/// it gets.
struct Partition {
  /// Where each stage begins, and the number of layers at the end: `num_stages() + 1` ascending entries from 0.
  std::vector<std::size_t> bounds;

  std::size_t num_stages() const { return bounds.empty() ? 0 : bounds.size() - 1; }
  std::size_t num_layers() const { return bounds.empty() ? 0 : bounds.back(); }
  LayerRange range(std::size_t stage) const { return {bounds[stage], bounds[stage + 1]}; }
  /// Returns the layers of the nearest stage before that has some; empty for the first stage.
  LayerRange before(std::size_t stage) const {
    while (stage > 1 && bounds[stage - 1] == bounds[stage]) --stage;
    return stage == 0 ? LayerRange{} : range(stage - 1);
  }

  friend bool operator==(const Partition&, const Partition&) = default;
};

/// Puts as many transformer blocks (two residual layers each) into every stage; the embedding joins the first
/// stage, final norm and head the last. If the blocks do not divide evenly, embedding and head count as a block each
/// (22 blocks on 8 stages: 2, 3, ..., 3, 2, as in the zero-bubble paper). If these do not divide evenly either,
/// residual layers are spread as evenly as possible, with one more in the first stages; with fewer of them than stages,
/// all layers are. Throws `Error` for more stages than layers.
Partition equal_partition(const Network& network, std::int32_t num_stages);

/// Returns one weight-carrying layer per stage: layers without weights go with the one before them, or with the first
/// one that has some. With fewer stages than that, neighbours are joined as evenly as possible. A network with residual
/// blocks is cut inside them when it is `opened` (models/network/flow.hpp). Throws `Error` for more stages than layers
/// with weights.
Partition finest_partition(const Network& network, std::int32_t num_stages);

/// Returns the cut of a chain with layer costs `costs` (>= 0) whose largest stage is as small as possible, exactly;
/// among such cuts, one with the smallest sum of squares. Throws `Error` for more stages than layers and negative
/// costs.
Partition balanced_partition(std::span<const std::int64_t> costs, std::int32_t num_stages);

/// Returns how many layers each stage has, "3,4,4,3". Throws `Error` for what is not a list of whole numbers from 0.
std::vector<std::size_t> parse_layer_counts(std::string_view counts);

/// Returns the stages of the given numbers of layers. Throws `Error` when they do not add up to `num_layers`, and
/// for a first or last stage without layers.
Partition partition_of(std::span<const std::size_t> counts, std::size_t num_layers);
inline Partition parse_partition(std::string_view counts, std::size_t num_layers) {
  return partition_of(parse_layer_counts(counts), num_layers);
}

/// "3,4,4,3".
std::string to_string(const Partition& partition);

}  // namespace plumb
