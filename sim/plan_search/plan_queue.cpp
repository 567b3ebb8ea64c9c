#include "sim/plan_search/plan_queue.hpp"

#include <algorithm>
#include <utility>

namespace plumb {
namespace {

constexpr std::size_t kMostQuick = 32;
constexpr std::size_t kMostSlow = 3;

}  // namespace

PlanQueue::PlanQueue(const std::vector<PlanSetup>& setups)
    : setups_(setups), waiting_(setups), candidates_(waiting_.size()) {}

/// Puts setups among the quick candidates until the first of all candidates stands there.
void PlanQueue::admit_setups(Ticks best) {
  for (; !waiting_.empty(); waiting_.pop()) {
    const WaitingSetup& next = waiting_.first();
    PlanCandidate candidate{.bound = setups_[next.setup].bound, .estimate = next.estimate, .setup = next.setup};
    candidate.number = next.number;
    if (!quick_.empty() && *quick_.begin() < candidate) return;
    if (candidate.bound >= best) continue;
    bounds_.insert(candidate.bound);
    quick_.insert(std::move(candidate));
  }
}

void PlanQueue::push(PlanCandidate candidate, Ticks best) {
  if (candidate.bound >= best) return;
  candidate.estimate = std::max(candidate.estimate, candidate.bound);
  candidate.number = ++candidates_;
  bounds_.insert(candidate.bound);
  (candidate.slow ? slow_ : quick_).insert(std::move(candidate));
}

PlanCandidate PlanQueue::pop(std::set<PlanCandidate>& queue) {
  PlanCandidate candidate = std::move(queue.extract(queue.begin()).value());
  bounds_.erase(bounds_.find(candidate.bound));
  return candidate;
}

std::vector<PlanCandidate> PlanQueue::take(std::int64_t most_plans, Ticks best) {
  std::vector<PlanCandidate> batch;
  std::int64_t left = most_plans;
  const auto take_from = [&](std::set<PlanCandidate>& queue) {
    PlanCandidate candidate = pop(queue);
    if (candidate.bound >= best) return false;
    if (candidate.level == PlanCandidate::Level::kPlan) --left;
    batch.push_back(std::move(candidate));
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
