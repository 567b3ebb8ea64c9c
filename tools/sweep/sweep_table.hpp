#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/sweep/sweep_run.hpp"

namespace plumb {

/// "1f1b p=4 m=8".
std::string sweep_title(const SweepPoint& point);

/// A table for people. Points that are impossible say why.
std::string sweep_table(const std::vector<SweepResult>& results);

/// For programs: a header, then one row per result; times in nanoseconds, peaks are those of the fullest device. The
/// columns that end in _p5 and _p95 are empty unless points were run several times.
std::string_view sweep_csv_header();
std::string sweep_csv_row(const SweepResult& result);

}  // namespace plumb
