#pragma once

#include <cstdint>
#include <vector>

#include "schedules/document/schedule.hpp"
#include "sim/plan_search/plan_job.hpp"
#include "sim/plan_search/prices/layer_prices.hpp"

namespace plumb {

// Lower bounds on the time of an update of pipelines that never flush. Times in ticks.
//
// Such a plan is scored on a document of K updates of m microbatches. Its step is the mean time between updates of the
// device that takes longest, of whole periods that repeat, or else of all n updates before the last forward of a
// device. Between these a device does all of n updates but for forwards that it did before, at most `most_ahead`, and
// n is at least K - 2 - most_ahead / m; K is chosen so that this is at least 31/32 of n updates. Filling and draining
// prove nothing.

/// The most microbatches that a schedule on so many places may have between their first forward and their last
/// backward.
std::int64_t most_ahead(std::int32_t places);

/// K.
std::int64_t scored_updates(std::int32_t places, std::int64_t microbatches);

/// Throws `Error` when `schedule` has more microbatches in flight than `most_ahead`.
void check_ahead(const Schedule& schedule);

/// Whatever the cut and the order: 31/32 of the larger of all work and updates, divided over the fastest places, and of
/// the largest layer on the fastest place.
Ticks steady_setup_bound(const LayerPrices& prices, std::int32_t places, std::int64_t microbatches);

/// 31/32 of the largest of what a device has to compute for an update and of what a link between neighbouring stages
/// has to carry. `placement` as in `Schedule::placement`, by place of the cluster; 0 when there are several copies.
Ticks steady_placement_bound(const PricedStages& stages,
                             const std::vector<std::vector<std::vector<DeviceId>>>& placement,
                             std::int64_t microbatches);

}  // namespace plumb
