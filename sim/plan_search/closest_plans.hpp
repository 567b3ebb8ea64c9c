#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "sim/plan_search/pipeline_plan.hpp"

namespace plumb {

/// Finds the plan that exceeds the memory least among those that do not fit. Of most of them only a bound is known:
/// they were given up before they were simulated, and have no peak.
class ClosestPlans {
 public:
  /// Notes a plan that does not fit.
  void add(const ScoredPlan& plan);
  /// Simulates those with small bounds until no bound is below the least excess that was found. Plans that `simulate`
  /// refuses are left out. At most `kMostKept` are simulated; nothing where there was none.
  std::optional<ScoredPlan> find(const std::function<ScoredPlan(const PipelinePlan&)>& simulate);

  static constexpr std::size_t kMostKept = 24;

 private:
  std::vector<ScoredPlan> bounds_;  ///< by excess
  std::optional<ScoredPlan> simulated_;
};

}  // namespace plumb
