#pragma once

#include <array>
#include <vector>

#include "sim/planners/plan.hpp"
#include "sim/planners/problem.hpp"
#include "sim/sharing/block_spans.hpp"

namespace plumb {

inline constexpr std::array kDeviceBlocksTable{
    NamedOption{"blocks", list_form("N-N-..."), "as many as memory has room for", "layers that each device holds"}};

/// The devices of `problem` as servers of a network in forward mode, which join one after another, at the mean forward
/// time of a layer, in microbatches per second. With option `blocks`, "4-4-3", they hold so many layers. Without it
/// there is a swarm for every number l of layers: a server holds neighbours that together weigh no more than the
/// heaviest l do, and fit into its memory. With more memory there are the same swarms, or one in which every device
/// holds all layers. Throws `Error` when the largest layer fits nowhere, and for a bad option.
std::vector<Swarm> swarms_of(const PlanProblem& problem);

/// One stage per device, with the layers of its span; spans may overlap.
std::vector<PlanStage> stages_of_swarm(const PlanProblem& problem, const Swarm& swarm);

}  // namespace plumb
