#pragma once

#include <cstdint>

#include "schedules/document/schedule.hpp"

namespace plumb {

/// The schedule with its first `updates` updates run one after the other: all forwards of an update, then all
/// backwards, then the updates of the weights. What follows keeps its order, from an empty pipeline. The weight policy
/// of that phase is flush. (PipeMare's T3; Yang et al., arXiv 1910.05124)
///
/// Repeats are written out. Throws `Error` for schedules without a list for each device, with phases already, and
/// with actions that belong to no update: explicit transfers, moves, exchanges of weights, extra work.
Schedule with_synchronous_phase(Schedule schedule, std::int64_t updates);

}  // namespace plumb
