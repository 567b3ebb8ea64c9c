#pragma once

#include <cstdint>
#include <vector>

#include "schedules/document/schedule.hpp"

namespace plumb {

/// By stage: the most microbatches that are between their forward and the end of their backward (B, or W if the
/// backward is split) on one device at a time. Follows from the order of the lists alone; a slice counts as a whole
/// microbatch. Only the first million actions of a list are read: by then its repeats are in their steady state.
std::vector<std::int64_t> peak_in_flight(const Schedule& schedule);

}  // namespace plumb
