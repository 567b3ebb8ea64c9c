#pragma once

#include <cstdint>
#include <vector>

#include "schedules/document/schedule.hpp"

namespace plumb {

/// `schedule` with stashes on the host between forward and backward: of every 100 microbatches of stage s, spread
/// evenly, `percent[s]`. A stash leaves right behind its forward and comes back one pass before its backward needs it,
/// as far ahead as hides a copy no longer than a pass; a microbatch with fewer than three passes in between stays.
/// Lists are unfolded. Throws `Error` for other numbers than one from 0 to 100 for each stage, and for a schedule that
/// moves or recomputes stashes itself, cuts microbatches into slices, merges them, or trains nothing.
Schedule with_offload(Schedule schedule, const std::vector<std::int32_t>& percent);

}  // namespace plumb
