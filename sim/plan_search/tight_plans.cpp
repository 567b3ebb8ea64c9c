#include "sim/plan_search/tight_plans.hpp"

#include <utility>

#include "sim/plan_search/plan_front.hpp"

namespace plumb {

PlanAnswer with_expected(PlanAnswer sure, PlanAnswer expected, const std::function<bool(const ScoredPlan&)>& fits) {
  expected.simulated += sure.simulated;
  expected.seeded += sure.seeded;
  if (sure.best.empty()) return expected;
  sure.simulated = expected.simulated;
  sure.seeded = expected.seeded;
  if (!expected.best.empty() && expected.best.front().step_ns < sure.best.front().step_ns) {
    const std::ptrdiff_t at = fits(expected.best.front()) ? 0 : 1;
    sure.best.insert(sure.best.begin() + at, expected.best.front());
  }
  PlanFront front;
  for (const ScoredPlan& plan : sure.front) front.add(plan);
  for (const ScoredPlan& plan : expected.front) front.add(plan);
  sure.front = front.take();
  return sure;
}

}  // namespace plumb
