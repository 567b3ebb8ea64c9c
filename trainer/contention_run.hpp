#pragma once

#include "models/profile.hpp"
#include "sim/contention_fit.hpp"
#include "trainer/profile_run.hpp"

namespace plumb {

/// What was measured of actions alone and in company.
struct ContentionRun {
  Profile profile;  ///< times alone, and the contention that was fitted
  ContentionFit fit;
};

/// Measures all stages alone (one action at a time), in 1F1B and with all microbatches in flight, with fused and with
/// split backwards, `options.rounds` times, and fits what devices take from each other: pipelines that fill and drain
/// bring together every number of neighbours.
ContentionRun measure_contention(const ProfileOptions& options);

}  // namespace plumb
