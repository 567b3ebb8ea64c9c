#include "sim/plan_search/plan_queue.hpp"

#include <algorithm>
#include <utility>

namespace plumb {
namespace {

constexpr std::size_t kMostQuick = 32;
constexpr std::size_t kMostSlow = 3;

}  // namespace

PlanQueue::PlanQueue(const std::vector<PlanSetup>& setups)
    : setups_(setups), waiting_(setups), parts_(waiting_.size()) {}

/// Puts setups among the quick parts until the first of all parts stands there.
void PlanQueue::admit_setups(Ticks best) {
  for (; !waiting_.empty(); waiting_.pop()) {
    const WaitingSetup& next = waiting_.first();
    SearchPart part{.bound = setups_[next.setup].bound, .estimate = next.estimate, .setup = next.setup};
    part.number = next.number;
    if (!quick_.empty() && *quick_.begin() < part) return;
    if (part.bound >= best) continue;
    bounds_.insert(part.bound);
    quick_.insert(std::move(part));
  }
}

void PlanQueue::push(SearchPart part, Ticks best) {
  if (part.bound >= best) return;
  part.estimate = std::max(part.estimate, part.bound);
  part.number = ++parts_;
  bounds_.insert(part.bound);
  (part.slow ? slow_ : quick_).insert(std::move(part));
}

SearchPart PlanQueue::pop(std::set<SearchPart>& queue) {
  SearchPart part = std::move(queue.extract(queue.begin()).value());
  bounds_.erase(bounds_.find(part.bound));
  return part;
}

std::vector<SearchPart> PlanQueue::take(std::int64_t most_plans, Ticks best) {
  std::vector<SearchPart> batch;
  std::int64_t left = most_plans;
  const auto take_from = [&](std::set<SearchPart>& queue) {
    SearchPart part = pop(queue);
    if (part.bound >= best) return false;
    if (part.level == SearchPart::Level::kPlan) --left;
    batch.push_back(std::move(part));
    return true;
  };
  for (std::size_t k = 0; k < kMostQuick && left > 0;) {
    admit_setups(best);
    if (quick_.empty()) break;
    k += take_from(quick_) ? 1 : 0;
  }
  for (std::size_t k = 0; k < kMostSlow && left > 0 && !slow_.empty();) {
    if (!quick_.empty() && quick_.begin()->estimate < slow_.begin()->estimate) break;
    k += take_from(slow_) ? 1 : 0;
  }
  return batch;
}

Ticks PlanQueue::least_bound() const {
  return bounds_.empty() ? waiting_.least_bound() : std::min(waiting_.least_bound(), *bounds_.begin());
}

}  // namespace plumb
