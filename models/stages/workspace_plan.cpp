#include "models/stages/workspace_plan.hpp"

#include <algorithm>
#include <utility>

namespace plumb {

void WorkspacePlan::add(TensorPlace& place, std::int64_t bytes, std::size_t begin, std::size_t end) {
  if (bytes > 0) items_.push_back({&place, aligned_bytes(bytes), begin, end});
}

std::int64_t WorkspacePlan::finish() {
  std::stable_sort(items_.begin(), items_.end(), [](const Item& a, const Item& b) { return a.bytes > b.bytes; });
  std::int64_t size = 0;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const std::int64_t offset = lowest_free_offset(i);
    *items_[i].place = {StageBlock::kWorkspace, offset};
    size = std::max(size, offset + items_[i].bytes);
  }
  return size;
}

std::int64_t WorkspacePlan::lowest_free_offset(std::size_t item) const {
  std::vector<std::pair<std::int64_t, std::int64_t>> taken;
  for (std::size_t other = 0; other < item; ++other) {
    const bool together = items_[other].begin <= items_[item].end && items_[item].begin <= items_[other].end;
    if (together) taken.emplace_back(items_[other].place->offset, items_[other].bytes);
  }
  std::sort(taken.begin(), taken.end());
  std::int64_t offset = 0;
  for (const auto& [begin, bytes] : taken) {
    if (offset + items_[item].bytes <= begin) break;
    offset = std::max(offset, begin + bytes);
  }
  return offset;
}

}  // namespace plumb
