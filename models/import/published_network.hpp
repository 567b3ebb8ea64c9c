#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "models/graphs/layer_graph.hpp"
#include "models/import/placement_graph.hpp"
#include "models/import/tensor_variants.hpp"

namespace plumb {

/// The formats in which networks with measured times are published.
enum class PublishedFormat : std::uint8_t { kGraphText, kPlacement, kTensorVariants };

/// A network from somebody else's file: its layers, and what the format says beyond them.
struct PublishedNetwork {
  PublishedFormat format{};
  LayerGraph layers;
  std::optional<PlacementGraph> placement = {};  ///< dnn-partitioning
  std::optional<VariantGraph> variants = {};     ///< Piper
};

/// Returns the format of `text`, by how it begins; nothing when it is none of these (a document of ours, a Hugging Face
/// configuration).
std::optional<PublishedFormat> published_format(std::string_view text);

/// Reads the file at `path`. Nothing when it is none of the formats. Throws `Error` as the readers do, and for a
/// profiler's trace.
std::optional<PublishedNetwork> load_published(std::string_view path);

/// Reads any of the formats; the network is called after the file. Throws `Error` as the readers do.
PublishedNetwork published_network(std::string_view text, std::string_view file_name);

}  // namespace plumb
