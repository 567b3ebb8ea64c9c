#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plumb {

/// What wrote a range of a trace.
enum class RangeKind : std::uint8_t {
  kAnnotation,     ///< `record_function` on the host: PyTorch's `PP:3F7`, gloo's `gloo:recv`
  kOperator,       ///< an operator on the host: aten, autograd, c10d
  kGpuAnnotation,  ///< an annotation as the GPU saw it: first to last kernel launched inside it
};

/// One range of one thread (or of one stream of a GPU).
struct TraceRange {
  std::string name;
  RangeKind kind = RangeKind::kAnnotation;
  std::int64_t thread = 0;
  std::int64_t start_ns = 0;  ///< since the epoch of the rank's host
  std::int64_t end_ns = 0;
};

/// What one rank traced.
struct RankTrace {
  std::string file;
  std::int32_t rank = 0;
  std::int32_t world_size = 0;
  std::string backend;             ///< of torch.distributed: "gloo", "nccl"
  std::vector<TraceRange> ranges;  ///< by start; of equal starts the longer first
};

/// Reads a trace of PyTorch's profiler (Kineto, JSON in Chrome's format). Times are `ts` microseconds after
/// `baseTimeNanoseconds`. Other events than ranges of the three kinds are passed over. Throws `Error` with file, line
/// and column for broken JSON, and where `distributedInfo` does not say which rank it is.
RankTrace read_kineto(std::string text, const std::string& file_name);

}  // namespace plumb
