#pragma once

#include <string>
#include <vector>

#include "tools/sweep/sweep_run.hpp"

namespace plumb {

/// A table of the Pareto-optimal points: no other point of the same problem (devices, samples per update, costs, kind
/// of updates, work of a microbatch) is better in both bubble (of jobs: step time) and peak memory. Problem by problem,
/// from least memory to least bubble or step time. Points that do not fit in memory are left out.
std::string pareto_table(const std::vector<SweepResult>& results);

/// Indices into `results` of those points, a list for every problem.
std::vector<std::vector<std::size_t>> pareto_fronts(const std::vector<SweepResult>& results);

/// Whether schedules of the same costs do the same work for a microbatch. They do not where costs are those of a stage
/// and the schedules have unlike numbers of stages, or where only some compute the head (S and T).
bool have_equal_work(const std::vector<SweepResult>& results);

}  // namespace plumb
