#include "schedules/checks/findings.hpp"

#include <algorithm>

namespace plumb {

std::vector<Violation> Findings::take() {
  std::stable_sort(list_.begin(), list_.end(), [](const Violation& a, const Violation& b) {
    return a.device != b.device ? a.device < b.device : a.position < b.position;
  });
  const std::int64_t more = count_ - static_cast<std::int64_t>(list_.size());
  if (more > 0) {
    list_.push_back(list_.back());
    list_.back().action.clear();
    list_.back().reason = "and " + std::to_string(more) + " more violations";
  }
  return std::move(list_);
}

}  // namespace plumb
