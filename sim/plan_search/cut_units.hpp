#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "sim/plan_search/pipeline_plan.hpp"
#include "sim/plan_search/plan_job.hpp"

namespace plumb {

/// `job` as a search sees it: each of its units (`PlanJob::units`) is a layer, so that every cut is one that may be.
/// What prices promise of all partitions holds of these, so all bounds do. The same job where it has no units.
PlanJob job_of_units(const PlanJob& job);

/// Returns the stages given in units, in layers.
Partition in_layers(const Partition& of_units, const std::vector<std::size_t>& units);

/// Returns the reverse; empty where a stage begins inside a unit.
std::optional<Partition> in_units(const Partition& of_layers, const std::vector<std::size_t>& units);

/// Converts the plans whose stages begin at units to units.
std::vector<PipelinePlan> in_units(const std::vector<PipelinePlan>& plans, const std::vector<std::size_t>& units);

/// Returns an answer in units, in layers.
PlanAnswer in_layers(PlanAnswer answer, const std::vector<std::size_t>& units);

}  // namespace plumb
