#pragma once

#include <vector>

#include "sim/planners/plan.hpp"
#include "sim/planners/problem.hpp"
#include "sim/sharing/block_spans.hpp"

namespace plumb {

/// The devices of `problem` as servers of a network in forward mode, which join one after another, at the mean forward
/// time of a layer, in microbatches per second. They hold as many layers as option `blocks` says, "4-4-3", or without
/// it as their memory holds weights of. Throws `Error` when a layer does not fit, and for a bad option.
Swarm swarm_of(const PlanProblem& problem);

/// One stage per device, with the layers of its span; spans may overlap.
std::vector<PlanStage> stages_of_swarm(const PlanProblem& problem, const Swarm& swarm);

}  // namespace plumb
