#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/reports/plot.hpp"
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

/// "1f1b p=4 m=8".
std::string sweep_title(const SweepPoint& point);

/// A table for people. Points that are impossible say why.
std::string sweep_table(const std::vector<SweepResult>& results);

/// For programs: a header, then one row per result; times in nanoseconds, peaks are those of the fullest device. The
/// columns that end in _p5 and _p95 are empty unless points were run several times.
std::string_view sweep_csv_header();
std::string sweep_csv_row(const SweepResult& result);

/// Throws `Error` with the first reason where no point could be simulated; notes what the results do not show.
void check_sweep(const std::vector<SweepResult>& results);

/// The index of the point to recommend: of the first problem the one with the least bubble, of jobs the shortest step;
/// none where nothing fits.
std::optional<std::size_t> best_point(const std::vector<SweepResult>& results);

/// What that point gets, the choices, every point where that can be read, and what their times stand on.
std::string sweep_text(const std::vector<SweepResult>& results);

/// Bubble (of jobs: step time) against peak memory, a dot per point that has figures, a colour per schedule, and a line
/// through the choices of `pareto_points` for every problem.
Plot sweep_plot(const std::vector<SweepResult>& results);

}  // namespace plumb
