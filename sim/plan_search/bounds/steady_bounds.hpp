#pragma once

#include <cstdint>
#include <vector>

#include "schedules/document/schedule.hpp"
#include "sim/plan_search/plan_job.hpp"
#include "sim/plan_search/prices/layer_prices.hpp"

namespace plumb {

// Lower bounds on the time of an update of pipelines that never flush. Times are ticks.
//
// Such a plan is scored on a document of K updates of m microbatches. Its step is the mean time between updates of the
// device that takes longest: of whole periods that repeat, or else of all n updates before the last forward of a
// device.
//
// 1. Between these updates, a device does all work of n updates but for forwards that it did before, at most
//    `most_ahead`. Filling and draining prove nothing.
// 2. n is at least K - 2 - most_ahead / m.
// 3. K (`scored_updates`) is so large that 1 and 2 leave at least 31/32 of the work of n updates.
//
// So 31/32 of what a device or a link has to do for one update is a lower bound.

/// Returns the most microbatches that a schedule on so many places may have between their first forward and their last
/// backward.
std::int64_t most_ahead(std::int32_t places);

/// Returns K.
std::int64_t scored_updates(std::int32_t places, std::int64_t microbatches);

/// Throws `Error` when `schedule` has more microbatches in flight than `most_ahead`.
void check_ahead(const Schedule& schedule);

/// Returns a lower bound whatever the cut and the order: 31/32 of the larger of all work and updates over the fastest
/// places, and the largest layer on the fastest place (statements 1 and 3 of `setup_bound`).
Ticks steady_setup_bound(const LayerPrices& prices, std::int32_t places, std::int64_t microbatches);

/// Returns a lower bound for priced stages at given places: 31/32 of the most that a device has to compute for an
/// update, or that a link between neighbouring stages has to carry. `placement` is as in `Schedule::placement`, by
/// place of the cluster; 0 when there are several copies.
Ticks steady_placement_bound(const PricedStages& stages,
                             const std::vector<std::vector<std::vector<DeviceId>>>& placement,
                             std::int64_t microbatches);

}  // namespace plumb
