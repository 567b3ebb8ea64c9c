#pragma once

#include "models/sources/profile.hpp"
#include "sim/contention_fit/contention_fit.hpp"
#include "trainer/profile/profile_run.hpp"

namespace plumb {

/// What was measured of actions alone and overlapped.
struct ContentionRun {
  Profile profile;  ///< times alone, and the contention that was fitted
  ContentionFit fit;
};

/// Measures all stages alone (one action at a time), in 1F1B and with all microbatches in flight, with fused and with
/// split backwards, `options.rounds` times, and fits how much devices slow each other down: while pipelines fill and
/// drain, every number of devices is at work. One more run alternates updates with one action at a time and updates of
/// 1F1B, which shows a clock frequency that follows the load with a lag. With `options.reductions` two copies of the
/// pipeline are trained as well.
ContentionRun measure_contention(const ProfileOptions& options);

}  // namespace plumb
