#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/graphs/layer_graph.hpp"

namespace plumb {

/// One way to run a layer: with a degree of tensor parallelism, with or without recompute (Piper's "TMPC").
struct TensorVariant {
  std::int32_t degree = 1;  ///< devices that share the layer
  std::string id;           ///< "vanilla", "activation recomp"
  double seconds = 0;       ///< forward and backward of one microbatch
  double parameter_bytes = 0;
  double bytes_per_copy = 0;           ///< bytes of which a stage holds ceil(s / d) copies
  double bytes_fixed = 0;              ///< bytes that it holds once
  std::vector<double> receives_bytes;  ///< extra when an in-edge is cut; by `VariantGraph::before` of the node
  std::vector<double> sends_bytes;     ///< extra when an out-edge is cut; by `VariantGraph::after` of the node

  friend bool operator==(const TensorVariant&, const TensorVariant&) = default;
};

/// A neighbour of a node and what travels on the edge.
struct VariantEdge {
  std::int32_t node = 0;
  double bytes = 0;

  friend bool operator==(const VariantEdge&, const VariantEdge&) = default;
};

/// Piper's input (Tarnawski et al., NeurIPS 2021): every layer in all variants, and the problem it was published with.
struct VariantGraph {
  std::string name;
  std::int32_t devices = 0;
  double device_bytes = 0;
  double bytes_per_s = 0;
  std::int64_t microbatches = 0;
  std::vector<std::int64_t> id;                      ///< as in the file; nodes are in topological order
  std::vector<std::string> label;                    ///< by node
  std::vector<std::vector<TensorVariant>> variants;  ///< by node; ascending degree
  std::vector<std::vector<VariantEdge>> before;      ///< by node
  std::vector<std::vector<VariantEdge>> after;       ///< by node

  std::size_t size() const { return variants.size(); }
  friend bool operator==(const VariantGraph&, const VariantGraph&) = default;
};

/// Reads Piper JSON. Times are taken as seconds, as Piper does. Throws `Error` with line, column and path for
/// broken JSON, unknown keys and edges, repeated ids, and cycles.
VariantGraph variant_graph_from_json(std::string_view text, std::string_view file_name);

/// Returns the layers at degree 1 without recompute; a third of the time is the forward, because only the sum is known.
LayerGraph layers_of(const VariantGraph& graph);

}  // namespace plumb
