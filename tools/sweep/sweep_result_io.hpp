#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/sweep/sweep_run.hpp"

namespace plumb {

/// Everything of `results` but the points and the timelines, as bytes for another process of the same program.
std::string sweep_results_to_bytes(const std::vector<SweepResult>& results);

/// Reads that. The points have only what a simulation finds out about them, the number of chunks.
std::vector<SweepResult> sweep_results_from_bytes(std::string_view bytes);

}  // namespace plumb
