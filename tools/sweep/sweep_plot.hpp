#pragma once

#include <vector>

#include "tools/reports/plot.hpp"
#include "tools/sweep/sweep_run.hpp"

namespace plumb {

/// Bubble (of jobs: step time) against peak memory, a dot per point that has figures, a colour per schedule, and a line
/// through the choices of `pareto_points` for every problem.
Plot sweep_plot(const std::vector<SweepResult>& results);

}  // namespace plumb
