#include "sim/traces/readers/rank_trace.hpp"

#include <algorithm>
#include <tuple>

namespace plumb {

void sort_ranges(RankTrace& trace) {
  std::ranges::sort(trace.ranges, {}, [](const TraceRange& r) { return std::tuple(r.start_ns, -r.end_ns, r.thread); });
}

bool is_message_kernel(const std::string& name) { return name.starts_with("nccl") || name.starts_with("rccl"); }

}  // namespace plumb
