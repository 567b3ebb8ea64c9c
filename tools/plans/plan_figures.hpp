#pragma once

#include <optional>
#include <string>

#include "sim/plan_search/pipeline_plan.hpp"
#include "sim/plan_search/placed_schedule.hpp"
#include "sim/timeline/memory_need.hpp"
#include "tools/options/plan_search_arguments.hpp"

namespace plumb {

/// How well a plan uses its devices: FLOPs of the model, without what is computed again, per second.
struct PlanSpeed {
  double tflops_per_device = 0;  ///< 0: FLOPs are not known
  double utilization = 0;        ///< of the peak of the devices in 16 bits
};
PlanSpeed plan_speed(const PlanQuestion& question, const ScoredPlan& score);

/// What the fullest device of a plan needs with all that is held beside tensors, against its memory: what `simulate`
/// says of it. None where layers are measured, and nothing is known beside tensors.
std::optional<MemoryNeed> plan_need(const PlanQuestion& question, const ScoredPlan& score);

/// The three largest tensors of the fullest device; empty where nothing is known beside tensors, and for a schedule of
/// more microbatches than are looked at once more.
std::string plan_largest(const PlanQuestion& question, const SimulatedPlan& plan);

}  // namespace plumb
