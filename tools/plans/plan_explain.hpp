#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/plan_search/placed_schedule.hpp"
#include "tools/options/plan_search_arguments.hpp"

namespace plumb {

/// A resource made better, and what the step would be.
struct PlanSensitivity {
  std::string what;
  std::int64_t step_ns = 0;
  bool searched = false;  ///< another plan may be the best then; otherwise the same plan scored again
};

/// The plan scored again with one resource 10 % better at a time: every kind of device, its memory's speed, links
/// inside and between nodes; stages balanced perfectly; and with a quarter more memory, for which `effort` searches
/// again. Most helpful first.
std::vector<PlanSensitivity> plan_sensitivities(const PlanQuestion& question, const SimulatedPlan& best,
                                                const PlanEffort& effort);

/// As a table.
std::string sensitivities_text(const std::vector<PlanSensitivity>& sensitivities, std::int64_t step_ns);

}  // namespace plumb
