#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/timeline.hpp"
#include "tools/sweep_grid.hpp"

namespace plumb {

/// What one simulation of a sweep came to: a timeline, or why there is none.
struct SweepResult {
  SweepPoint point;
  std::optional<Timeline> timeline;
  bool fits = true;   ///< in memory
  std::string error;  ///< empty when there is a timeline
};

/// "1f1b p=4 m=8".
std::string sweep_title(const SweepPoint& point);

/// For people; impossible points say why.
std::string sweep_table(const std::vector<SweepResult>& results);

/// For programs: a header and one row per result; times in nanoseconds, peaks are those of the fullest device.
std::string sweep_csv(const std::vector<SweepResult>& results);

}  // namespace plumb
