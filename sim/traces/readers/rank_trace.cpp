#include "sim/traces/readers/rank_trace.hpp"

#include <algorithm>
#include <tuple>

#include "models/ground/reader_limits.hpp"

namespace plumb {

void sort_ranges(RankTrace& trace) {
  std::ranges::sort(trace.ranges, {}, [](const TraceRange& r) { return std::tuple(r.start_ns, -r.end_ns, r.thread); });
}

std::string_view TraceNames::kept(std::string_view name) {
  name = name.substr(0, kRangeName.most);
  const auto found = names_->find(name);
  return found != names_->end() ? *found : *names_->emplace(name).first;
}

bool is_message_kernel(std::string_view text) {
  if (text.starts_with("void ")) text.remove_prefix(5);  // of a template
  return text.starts_with("nccl") || text.starts_with("rccl") || text.starts_with("msccl");
}

}  // namespace plumb
