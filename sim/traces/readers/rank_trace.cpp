#include "sim/traces/readers/rank_trace.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>

namespace plumb {

void sort_ranges(RankTrace& trace) {
  std::ranges::sort(trace.ranges, {}, [](const TraceRange& r) { return std::tuple(r.start_ns, -r.end_ns, r.thread); });
}

bool is_message_kernel(const std::string& name) {
  std::string_view text = name;
  if (text.starts_with("void ")) text.remove_prefix(5);  // of a template
  return text.starts_with("nccl") || text.starts_with("rccl") || text.starts_with("msccl");
}

}  // namespace plumb
