#pragma once

#include <string>
#include <vector>

#include "schedules/versions/delays.hpp"

namespace plumb {

/// One row per holder of a stage: distance from forward to backward, how old the weights are that its actions read (the
/// mean, and from what to what where it varies), versions and copies kept. Past the first 32, which are counted,
/// nothing is shown.
std::string delays_text(const std::vector<StageDelays>& delays);

/// How often each delay occurs: one row per holder, kind of action and delay.
std::string delay_histogram_text(const std::vector<StageDelays>& delays);

}  // namespace plumb
