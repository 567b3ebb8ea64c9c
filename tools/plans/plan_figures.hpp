#pragma once

#include <string>

#include "sim/plan_search/pipeline_plan.hpp"
#include "sim/plan_search/placed_schedule.hpp"
#include "sim/timeline/memory_need.hpp"
#include "sim/timeline/timeline.hpp"
#include "tools/options/plan_question.hpp"

namespace plumb {

/// How well a plan uses its devices: FLOPs of the model, without what is computed again, per second.
struct PlanSpeed {
  double tflops_per_device = 0;  ///< 0: FLOPs are not known
  double utilization = 0;        ///< of the peak of the devices in 16 bits
};
PlanSpeed plan_speed(const PlanQuestion& question, const ScoredPlan& score);

/// What the device needs that a plan leaves least of its memory, with all that is held beside tensors: what `simulate`
/// says of it. Where layers are measured nothing is known beside tensors, and they are all.
MemoryNeed plan_need(const PlanQuestion& question, const ScoredPlan& score);

/// Notes in `timeline`, a run of `plan`, what every place needs.
void fill_needs(const PlanQuestion& question, const PipelinePlan& plan, Timeline& timeline);

/// The systems that run the plan, "Megatron-LM, DeepSpeed": the one that it is for, or all; "none that is known".
std::string plan_systems_text(const PlanQuestion& question, const PipelinePlan& plan);

/// The three largest tensors of the fullest device; empty where nothing is known beside tensors, and for a schedule of
/// more microbatches than are looked at once more.
std::string plan_largest(const PlanQuestion& question, const SimulatedPlan& plan);

}  // namespace plumb
