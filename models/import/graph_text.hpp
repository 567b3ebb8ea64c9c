#pragma once

#include <string_view>

#include "models/graphs/layer_graph.hpp"

namespace plumb {

/// Reads a `graph.txt` as PipeDream and DAPPLE publish them: one line per node,
///
///     node4 -- Conv2d(3, 64) -- forward_compute_time=3.1, backward_compute_time=6.2, activation_size=[8.0; 4.0],
///     parameter_size=7168.000 [-- stage_id=0]
///
/// and one indented line `node4 -- node5` per edge. Times are milliseconds, sizes bytes; outputs of a list are added
/// up. Sources whose description begins with "Input" load data. Throws `Error` with the number of the line.
LayerGraph layer_graph_from_text(std::string_view text, std::string_view file_name);

/// Returns the text of `graph` in the same form. Reading it gives the same nodes and edges.
std::string layer_graph_to_text(const LayerGraph& graph);

}  // namespace plumb
