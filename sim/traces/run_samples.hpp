#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/sources/run_profile.hpp"
#include "sim/traces/producers.hpp"
#include "sim/traces/readers/rank_run.hpp"

namespace plumb {

/// Returns what the run costs: all actions and messages of the given steps, as `RunProfile` says. Clocks are aligned.
/// Leaves `machine` and `runtime` empty.
///
/// A mean leaves out samples of more than four times the median, which are disturbances of the machine. It is what
/// predictions add up: a sum of many times tends to the sum of their means, not of their medians.
RunProfile run_samples(std::span<const RankRun> runs, const TracedProducers& producers,
                       std::span<const std::int32_t> steps);

}  // namespace plumb
