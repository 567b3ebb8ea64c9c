#pragma once

#include <string>
#include <vector>

#include "schedules/versions/delays.hpp"

namespace plumb {

/// One row per holder of a stage: the distance from forward to backward, the age of the weights that its actions read
/// (the mean, and the range where it varies), the versions and copies kept. Of more than 32 rows only the first 32 are
/// shown, and the rest is counted.
std::string delays_text(const std::vector<StageDelays>& delays);

/// How often each delay occurs: one row per holder, kind of action and delay.
std::string delay_histogram_text(const std::vector<StageDelays>& delays);

}  // namespace plumb
