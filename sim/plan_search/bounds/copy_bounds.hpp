#pragma once

#include <cstdint>
#include <vector>

#include "sim/plan_search/bounds/plan_bounds.hpp"

namespace plumb {

// Lower bounds on the step of copies of a whole pipeline that share the microbatches of an update. No copy waits for
// another one before its gradients are added up, so the step is no shorter than that of any copy.

/// Copies of a pipeline.
struct CopiesSetup {
  std::int32_t places = 1;  ///< places of each copy
  std::int32_t copies = 2;
  std::int64_t microbatches = 2;  ///< microbatches of all copies together
  std::int32_t stages = 1;        ///< the most stages that a copy may have
};

/// Returns a lower bound whatever the cut, the order of devices and the shares: the largest of these.
///
/// 1. *Work.* `held_bound` of all work and updates on the fastest places, as many as all copies together use.
/// 2. *One copy.* `setup_bound` of a pipeline with microbatches / copies of them, rounded up: some copy has so many.
/// 3. *Sum of gradients.* One microbatch's forwards on the fastest place, and a ring over all copies by the fastest
///    links that can join so many, of (all gradients) / stages bytes.
///    Nothing can be added up before a copy has a gradient, and some stage has no less than the mean of the bytes.
Ticks copies_setup_bound(const LayerPrices& prices, const CopiesSetup& setup, const ScheduleKinds& kinds);

/// Places of a pipeline's copies: by copy as `Schedule::placement`, each with one place for every stage.
using CopiesPlacement = std::vector<std::vector<std::vector<DeviceId>>>;

/// Returns a lower bound for priced stages at given places, with the microbatches that each copy takes (`shares`): the
/// largest of these over all copies.
///
/// 1. `placement_bound` of the copy with its share.
/// 2. For every stage, one after another: one microbatch's forwards of the stages before it; all forwards and backwards
///    of the copy's share; the ring in which the stage's holders add up gradients; the update.
Ticks copies_bound(const PricedStages& stages, const CopiesPlacement& placement,
                   const std::vector<std::int64_t>& shares);

/// Finds the shares with the least `copies_bound`, in multiples of `unit` and each no less than `least`. Requires that
/// `microbatches` is such a multiple and enough for all.
///
/// Gives one unit after another to the copy that is done first with it. This is exact. Let t be the largest bound that
/// a unit leads to, given to copy k. Then every other copy would reach t, too, with one unit more than it has
/// at that moment, since k was first. No copy is done earlier with more. So other shares that stay below t give k less,
/// some other copy more, and that copy reaches t.
std::vector<std::int64_t> least_bounded_shares(const PricedStages& stages, const CopiesPlacement& placement,
                                               std::int64_t microbatches, std::int64_t unit = 1,
                                               std::int64_t least = 1);

}  // namespace plumb
