#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace plumb {

/// What a range of a trace is.
enum class RangeKind : std::uint8_t {
  kAnnotation,     ///< `record_function` or NVTX on the host: PyTorch's `PP:3F7`, gloo's `gloo:recv`
  kOperator,       ///< an operator on the host: aten, autograd, c10d
  kGpuAnnotation,  ///< an annotation as the GPU saw it: first to last kernel launched inside it
  kLaunch,         ///< a call on the host that gives the GPU something to do; no name
  kKernel,         ///< a kernel that computes, a copy; the name is the annotation of its captured graph, if any
  kMessageKernel,  ///< a kernel of NCCL or RCCL; named like `kKernel`
};

/// The names of a file's ranges, each of them once, however many ranges have it.
class TraceNames {
 public:
  /// Returns the beginning of `name` (`kRangeName`), for as long as one copy of this object lives.
  std::string_view kept(std::string_view name);

 private:
  std::shared_ptr<std::set<std::string, std::less<>>> names_ = std::make_shared<std::set<std::string, std::less<>>>();
};

/// One range of one thread (or of one stream of a GPU).
struct TraceRange {
  std::string_view name;  ///< in the `names` of the rank's trace
  RangeKind kind = RangeKind::kAnnotation;
  std::int64_t thread = 0;
  std::int64_t start_ns = 0;  ///< since the epoch of the rank's host
  std::int64_t end_ns = 0;
  std::int64_t correlation = -1;  ///< number that a launch and what it launched have in common; -1: neither
};

/// What one rank traced.
struct RankTrace {
  static constexpr std::int32_t kUnknown = -1;

  std::string file;
  std::int32_t rank = kUnknown;
  std::int32_t world_size = kUnknown;
  std::string backend;  ///< back end of torch.distributed: "gloo", "nccl"
  /// Which ranks of the job make up the pipeline, where the trace names its group: then `rank` and `world_size` count
  /// in it. Empty: those of the job.
  std::string group;
  std::string runtime;             ///< where the names of groups tell it, as in `--runtime`; else empty
  TraceNames names;                ///< what the ranges' names are views of
  std::vector<TraceRange> ranges;  ///< by start; of equal starts the longer first
};

/// Brings the ranges into their order.
void sort_ranges(RankTrace& trace);

/// Returns whether a kernel of this name is one of NCCL or RCCL.
bool is_message_kernel(std::string_view name);

}  // namespace plumb
