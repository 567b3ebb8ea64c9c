#include "sim/sharing/pipeline_instances.hpp"

#include <queue>
#include <utility>

namespace plumb {
namespace {

bool visit_instances(std::int32_t nodes, std::span<const std::int32_t> sizes, InstanceCounts& counts,
                     const std::function<bool(const InstanceCounts&)>& visit) {
  const std::size_t at = counts.size();
  if (at + 1 == sizes.size()) {
    if (nodes % sizes[at] != 0) return true;
    counts.push_back(nodes / sizes[at]);
    const bool goes_on = visit(counts);
    counts.pop_back();
    return goes_on;
  }
  for (std::int32_t count = 0; count * sizes[at] <= nodes; ++count) {
    counts.push_back(count);
    const bool goes_on = visit_instances(nodes - count * sizes[at], sizes, counts, visit);
    counts.pop_back();
    if (!goes_on) return false;
  }
  return true;
}

}  // namespace

void for_each_instance(std::int32_t nodes, std::span<const std::int32_t> sizes,
                       const std::function<bool(const InstanceCounts&)>& visit) {
  if (sizes.empty()) return;
  InstanceCounts counts;
  visit_instances(nodes, sizes, counts, visit);
}

std::vector<std::int64_t> shared_microbatches(std::span<const double> time_per_microbatch, std::int64_t microbatches) {
  const auto pipelines = static_cast<std::int64_t>(time_per_microbatch.size());
  if (microbatches < pipelines) return {};
  std::vector<std::int64_t> shares(time_per_microbatch.size(), 1);
  // One at a time to the pipeline that would be done first with one more.
  using Next = std::pair<double, std::size_t>;
  std::priority_queue<Next, std::vector<Next>, std::greater<>> next;
  for (std::size_t at = 0; at < shares.size(); ++at) next.emplace(2 * time_per_microbatch[at], at);
  for (std::int64_t given = pipelines; given < microbatches; ++given) {
    const std::size_t at = next.top().second;
    next.pop();
    ++shares[at];
    next.emplace(static_cast<double>(shares[at] + 1) * time_per_microbatch[at], at);
  }
  return shares;
}

}  // namespace plumb
