#pragma once

#include <cstdint>
#include <vector>

#include "schedules/document/schedule.hpp"

namespace plumb {

/// By stage: the most microbatches that are between their forward and the end of their backward (B, or W where it is
/// apart) on one device at a time. Follows from the order of the lists alone; a slice counts as a whole microbatch.
/// Of endless lists the first million actions are looked at: repeats have settled by then.
std::vector<std::int64_t> peak_in_flight(const Schedule& schedule);

}  // namespace plumb
