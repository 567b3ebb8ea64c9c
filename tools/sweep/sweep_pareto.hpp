#pragma once

#include <string>
#include <vector>

#include "tools/sweep/sweep_run.hpp"

namespace plumb {

/// Points that no other point of the same problem (devices, samples of an update, costs, kind of updates) beats in both
/// bubble (of jobs: step time) and peak memory, as a table: for every problem the choices from least memory to least
/// bubble or step. Points that do not fit
/// take no part.
std::string pareto_table(const std::vector<SweepResult>& results);

/// Indices into `results` of those points, problem by problem.
std::vector<std::size_t> pareto_points(const std::vector<SweepResult>& results);

}  // namespace plumb
