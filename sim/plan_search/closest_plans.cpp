#include "sim/plan_search/closest_plans.hpp"

#include <algorithm>

#include "models/ground/error.hpp"

namespace plumb {

void ClosestPlans::add(const ScoredPlan& plan) {
  if (plan.peak_bytes > 0) {
    if (!simulated_ || plan.excess_bytes < simulated_->excess_bytes) simulated_ = plan;
    return;
  }
  if (bounds_.size() == kMostKept && plan.excess_bytes >= bounds_.back().excess_bytes) return;
  if (bounds_.size() == kMostKept) bounds_.pop_back();
  bounds_.insert(std::ranges::upper_bound(bounds_, plan.excess_bytes, {}, &ScoredPlan::excess_bytes), plan);
}

std::optional<ScoredPlan> ClosestPlans::find(const std::function<ScoredPlan(const PipelinePlan&)>& simulate) {
  for (const ScoredPlan& bound : bounds_) {
    if (simulated_ && simulated_->excess_bytes <= bound.excess_bytes) break;
    try {
      const ScoredPlan score = simulate(bound.plan);
      if (!simulated_ || score.excess_bytes < simulated_->excess_bytes) simulated_ = score;
    } catch (const Error&) {  // refused for another reason
    }
  }
  bounds_.clear();
  return simulated_;
}

}  // namespace plumb
