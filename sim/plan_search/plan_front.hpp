#pragma once

#include <vector>

#include "sim/plan_search/pipeline_plan.hpp"

namespace plumb {

/// The Pareto-optimal plans: they fit, and no other plan equals or beats them in all of step time, peak memory, devices
/// (and so in device-seconds per update) and, where devices have prices, price of an update.
class PlanFront {
 public:
  void add(const ScoredPlan& plan);
  /// Returns the plans by devices, then step time.
  std::vector<ScoredPlan> take();

 private:
  std::vector<ScoredPlan> plans_;
};

/// Returns what people are shown of a front: without plans that another one equals within a hundredth in everything,
/// and without those that use devices for more than four times as long as the fastest plan, or take more than twenty
/// times its step.
std::vector<ScoredPlan> shown_front(const std::vector<ScoredPlan>& front);

}  // namespace plumb
