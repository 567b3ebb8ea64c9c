#pragma once

#include <string>

#include "models/launches/launch.hpp"
#include "sim/timeline/timeline.hpp"

namespace plumb {

/// What was assumed that decides the prediction, a line each; empty: nothing.
std::string launch_first_text(const LaunchJob& job);

/// That, and what a launch file means, in a table: system, degrees, batch, stages.
std::string launch_text(const LaunchJob& job);

/// What the prediction does not take as the file says it, by class; names without effect only as a number.
std::string launch_notes_text(const LaunchJob& job);

}  // namespace plumb
