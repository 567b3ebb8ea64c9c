#pragma once

#include <cstdint>
#include <vector>

#include "schedules/schedule.hpp"
#include "sim/plan_search/layer_prices.hpp"
#include "sim/plan_search/plan_job.hpp"

namespace plumb {

// Lower bounds on the step of synchronous pipelines, proved from what every schedule has to do. Times in ticks.

/// Whatever the cut, the schedule and the order of devices: the largest of
///     all work, divided over the fastest `places` places,
///     all microbatches of the largest layer on the fastest place,
///     one microbatch through the whole network and back on the fastest place, and its update.
/// Less a tick per pass that rounding may take.
Ticks setup_bound(const LayerPrices& prices, std::int32_t places, std::int64_t microbatches);

/// Whatever the cut, the holders of every stage (each microbatch of it on one of them) and their order: the larger of
/// all work divided over all places that `prices` knows, and one microbatch through the whole network and back on the
/// fastest. Less rounding.
Ticks replicated_bound(const LayerPrices& prices, std::int64_t microbatches);

/// Bytes that are missing whatever the cut and the schedule: one copy of weights, gradients and optimizer state must
/// lie on the `places` largest places, and the largest layer on one. 0: not proved impossible.
std::int64_t missing_bytes(const LayerPrices& prices, std::int32_t places);

/// Of priced stages at given places: on every device that holds some stages of the only copy of the network, all its
/// work lies behind the forwards before its first stage and their messages; and behind its last input gradient lie
/// those of the stages before. No link between neighbours carries all messages faster than one after another.
/// `placement` as in `Schedule::placement`, by place of the cluster. 0 when there are several copies.
Ticks placement_bound(const PricedStages& stages, const std::vector<std::vector<std::vector<DeviceId>>>& placement,
                      std::int64_t microbatches);

/// Bytes by which the peak of some device is above what it can use, proved from how many microbatches the lists of
/// `schedule` have in flight; 0: not proved. Documents that move stashes or recompute prove nothing.
std::int64_t excess_bytes(const PricedStages& stages, const Schedule& schedule);

}  // namespace plumb
