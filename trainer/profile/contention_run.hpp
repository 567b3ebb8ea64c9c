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
/// split backwards, `options.rounds` times, and fits what devices take from each other: pipelines that fill and drain
/// bring together every number of neighbours. One more run lets updates with one action at a time and updates of 1F1B
/// take turns: what a clock that follows the load with a lag shows itself by. Where reductions are
/// asked for, two copies of the pipeline are trained as well.
ContentionRun measure_contention(const ProfileOptions& options);

}  // namespace plumb
