#include "sim/plan_search/plan_front.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace plumb {
namespace {

/// At least as good in everything.
bool covers(const ScoredPlan& a, const ScoredPlan& b) {
  return a.step_ns <= b.step_ns && a.peak_bytes <= b.peak_bytes && a.plan.num_devices() <= b.plan.num_devices() &&
         a.price() <= b.price();
}

}  // namespace

void PlanFront::add(const ScoredPlan& plan) {
  if (!plan.fits()) return;
  if (std::any_of(plans_.begin(), plans_.end(), [&](const ScoredPlan& known) { return covers(known, plan); })) return;
  std::erase_if(plans_, [&](const ScoredPlan& known) { return covers(plan, known); });
  plans_.push_back(plan);
}

std::vector<ScoredPlan> PlanFront::take() {
  std::sort(plans_.begin(), plans_.end(), [](const ScoredPlan& a, const ScoredPlan& b) {
    return std::tuple(a.plan.num_devices(), a.step_ns) < std::tuple(b.plan.num_devices(), b.step_ns);
  });
  return std::move(plans_);
}

}  // namespace plumb
