#include "sim/plan_search/plan_front.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace plumb {
namespace {

/// Returns whether `a` is at least as good as `b` in everything.
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

std::vector<ScoredPlan> shown_front(const std::vector<ScoredPlan>& front) {
  constexpr double kEqual = 1.01;
  constexpr double kWasteful = 4;
  constexpr double kSlow = 20;
  std::vector<ScoredPlan> by_step = front;
  std::stable_sort(by_step.begin(), by_step.end(),
                   [](const ScoredPlan& a, const ScoredPlan& b) { return a.step_ns < b.step_ns; });
  const auto within = [](double a, double b) { return a <= kEqual * b; };
  const auto nearly_covers = [&](const ScoredPlan& a, const ScoredPlan& b) {
    return within(static_cast<double>(a.peak_bytes), static_cast<double>(b.peak_bytes)) &&
           a.plan.num_devices() <= b.plan.num_devices() && within(a.price(), b.price());
  };
  std::vector<ScoredPlan> shown;
  for (const ScoredPlan& plan : by_step) {  // those already shown are faster
    const bool covered =
        std::ranges::any_of(shown, [&](const ScoredPlan& known) { return nearly_covers(known, plan); });
    const ScoredPlan& fastest = by_step.front();
    const bool slow = static_cast<double>(plan.step_ns) > kSlow * static_cast<double>(fastest.step_ns);
    const bool wasteful = plan.device_seconds() > kWasteful * fastest.device_seconds();
    if (!covered && !slow && !wasteful) shown.push_back(plan);
  }
  return shown;
}

}  // namespace plumb
