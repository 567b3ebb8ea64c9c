#pragma once

#include <cstdint>
#include <vector>

#include "sim/plan_search/bounds/plan_bounds.hpp"

namespace plumb {

// Lower bounds on the step of copies of a whole pipeline that share the microbatches of an update: no copy waits for
// another one before its gradients are added up, so the step is no shorter than that of any copy.

/// What copies of a pipeline are: so many, each on so many places, with `microbatches` together and no more than so
/// many stages.
struct CopiesSetup {
  std::int32_t places = 1;
  std::int32_t copies = 2;
  std::int64_t microbatches = 2;
  std::int32_t stages = 1;
};

/// Whatever the cut, the order of devices and the shares: all work and updates over the fastest places that all copies
/// together may use; the `setup_bound` of a pipeline with microbatches / copies of them, rounded up, which some copy
/// has at least; and one microbatch forwards, before which nothing can be added up, with the ring over all copies of
/// the stage that has most gradients, by the fastest links that can join so many.
Ticks copies_setup_bound(const LayerPrices& prices, const CopiesSetup& setup, const ScheduleKinds& kinds);

/// Where a pipeline's copies stand: by copy as `Schedule::placement`, each with one place for every stage.
using CopiesPlacement = std::vector<std::vector<std::vector<DeviceId>>>;

/// Of priced stages at given places, with the number of microbatches that every copy takes: the largest
/// `placement_bound` of a copy; and of every stage, where the copies' forwards and backwards of it are done, the ring
/// in which their holders add up gradients, and the update behind it.
Ticks copies_bound(const PricedStages& stages, const CopiesPlacement& placement,
                   const std::vector<std::int64_t>& shares);

/// Shares in multiples of `unit` for which that is the least, `least` at least for every copy: microbatches are given
/// one unit after another to the copy that is done first with it. That is exact, since no copy is done earlier with
/// more. `microbatches` is a multiple of `unit` and no less than `least` for every copy.
std::vector<std::int64_t> least_bounded_shares(const PricedStages& stages, const CopiesPlacement& placement,
                                               std::int64_t microbatches, std::int64_t unit = 1,
                                               std::int64_t least = 1);

}  // namespace plumb
