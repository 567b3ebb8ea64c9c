#pragma once

#include <span>
#include <string>
#include <string_view>

#include "models/graphs/layer_graph.hpp"

namespace plumb {

/// A file that a profiler wrote on one or more ranks.
struct TraceText {
  std::string text;
  std::string file_name;
};

/// Whether `text` is a Chrome trace (PyTorch's profiler), or a CSV of NVTX ranges projected to the GPU (Nsight Systems:
/// `nsys stats --report nvtx_gpu_proj_trace --format csv`).
bool is_trace(std::string_view text);

/// A chain of one layer per stage, from the ranges `PP:<action>` ("PP:3B7") of a pipelined run: the median over
/// microbatches of the forward, and of the backward (B, or I + W). If a range occurs several times, the
/// first one is left out as warm-up. Bytes are not known and 0.
///
/// In a Chrome trace the range on the GPU counts (`gpu_user_annotation`). If there is none, the range is from the first
/// start to the last end of the kernels that were launched inside the host's range. Throws `Error` when there is no
/// such range, a stage is missing (each rank writes a file of its own: name all of them), or one has no forward.
LayerGraph stages_from_traces(std::span<const TraceText> traces);

}  // namespace plumb
