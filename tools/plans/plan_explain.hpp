#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/plan_search/placed_schedule.hpp"
#include "tools/options/plan_search_arguments.hpp"

namespace plumb {

/// One resource improved, and the step time that it gives.
struct PlanSensitivity {
  std::string what;
  std::int64_t step_ns = 0;
  bool searched = false;  ///< another plan may be the best then; otherwise the same plan scored again
};

/// The plan simulated again with one resource at a time 10 % better: every kind of device, the speed of its memory,
/// links inside and between nodes; then with perfectly balanced stages, and with a quarter more memory, for which
/// `effort` searches again. The most helpful comes first.
std::vector<PlanSensitivity> plan_sensitivities(const PlanQuestion& question, const SimulatedPlan& best,
                                                const PlanEffort& effort);

/// As a table.
std::string sensitivities_text(const std::vector<PlanSensitivity>& sensitivities, std::int64_t step_ns);

}  // namespace plumb
