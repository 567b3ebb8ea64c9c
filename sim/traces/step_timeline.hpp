#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "sim/timeline/timeline.hpp"
#include "sim/traces/producers.hpp"
#include "sim/traces/readers/rank_run.hpp"

namespace plumb {

/// Begin of the first and end of the last thing that any rank did in the step.
std::pair<std::int64_t, std::int64_t> step_bounds(std::span<const RankRun> runs, std::int32_t step);

/// Returns one step as a measured timeline; `traced_run.hpp` says what the causes of idle time mean. Clocks are
/// aligned.
Timeline step_timeline(std::span<const RankRun> runs, const TracedProducers& producers, std::int32_t step);

}  // namespace plumb
