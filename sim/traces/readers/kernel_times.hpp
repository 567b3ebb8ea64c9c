#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "sim/traces/readers/rank_trace.hpp"

namespace plumb {

/// From the begin of the first to the end of the last.
struct TimeExtent {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;

  void add(std::int64_t start, std::int64_t end) {
    if (start < start_ns) start_ns = start;
    if (end > end_ns) end_ns = end;
  }
};

/// When the GPU ran what the host launched. A launch and its kernels have the same correlation; a captured graph's
/// kernels all have that of the launch of the graph.
class KernelTimes {
 public:
  explicit KernelTimes(std::span<const TraceRange> ranges);

  /// Whether any kernel that computes was launched by the host that was traced.
  bool any() const { return !work_.empty(); }

  /// The kernels that compute and were launched from `begin` (included) to `end`, on any thread: the backward's are
  /// launched by threads of autograd.
  std::optional<TimeExtent> work(std::int64_t begin_ns, std::int64_t end_ns) const;

  /// The same of kernels that send and receive.
  std::optional<TimeExtent> messages(std::int64_t begin_ns, std::int64_t end_ns) const;

 private:
  using ByCorrelation = std::map<std::int64_t, TimeExtent>;

  std::optional<TimeExtent> launched(const ByCorrelation& kernels, std::int64_t begin_ns, std::int64_t end_ns) const;

  struct Launch {
    std::int64_t at_ns = 0;
    std::int64_t correlation = 0;
  };

  std::vector<Launch> launches_;  ///< by time
  ByCorrelation work_;
  ByCorrelation messages_;
};

}  // namespace plumb
