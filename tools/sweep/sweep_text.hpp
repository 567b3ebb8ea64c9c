#pragma once

#include <string>
#include <vector>

#include "tools/reports/plot.hpp"
#include "tools/sweep/sweep_run.hpp"

namespace plumb {

/// Throws `Error` with the first reason where no point could be simulated; notes what the results do not show.
void check_sweep(const std::vector<SweepResult>& results);

/// Every point where that can be read, the choices among them, and what their times stand on.
std::string sweep_text(const std::vector<SweepResult>& results);

/// Bubble (of jobs: step time) against peak memory, a dot per point that has figures, a colour per schedule, and a line
/// through the choices of `pareto_points` for every problem.
Plot sweep_plot(const std::vector<SweepResult>& results);

}  // namespace plumb
