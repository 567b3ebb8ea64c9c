#pragma once

#include <vector>

#include "models/jobs/parallelism.hpp"
#include "sim/plan_search/plan_job.hpp"

namespace plumb {

/// The network as one stage, and every layer alone in a stage.
struct PricedNetwork {
  PricedStages whole{};
  PricedStages layers{};
};

/// A machine whose places differ in nothing but speed and memory, on which no stage takes longer or needs more than on
/// those of a job with unlike tensor degrees.
struct OptimisticMachine {
  PricedNetwork alone{};
  PricedNetwork paired{};  ///< at the least that overlapped pairs leave of passes
  /// By place: what a time there is multiplied by to be compared with those of this machine on a place of its speed,
  /// and the same of bytes.
  std::vector<double> time_scale{};
  std::vector<double> memory_scale{};
};

/// The prices of one of the degrees of `parallelism` are those of all places. A place of another degree is faster by
/// the largest factor by which anything that a layer takes or adds at least is faster there, and has as much more room
/// as the largest factor by which anything that a layer needs is smaller. So
///     time of a stage on its place >= sum over its layers of `least` of that place's degree
///                                  >= sum of `least` of this degree / (speed of the place x its factor),
/// and bounds and balanced cuts that know only places of unlike speed and memory hold. Of the degrees that one is taken
/// by which all places together are slowest. Throws what pricing throws.
OptimisticMachine optimistic_machine(const PlanJob& job, const Parallelism& parallelism);

}  // namespace plumb
