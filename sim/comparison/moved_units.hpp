#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "sim/comparison/replay.hpp"
#include "sim/comparison/run_work.hpp"

namespace plumb {

/// Units that a run had in another order than `graph`: as few of every device as would have to move to turn one order
/// into the other, and pairs whose actions did not overlap. `works` are the run's, as for `replay_inputs`.
std::vector<std::size_t> moved_units(const ReplayGraph& graph, std::span<const RunWork> works);

}  // namespace plumb
