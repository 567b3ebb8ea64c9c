#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "sim/plan_search/bounds/pass_counts.hpp"
#include "sim/plan_search/bounds/plan_bounds.hpp"
#include "sim/plan_search/prices/layer_prices.hpp"

namespace plumb {

// Lower bounds that know that layers are not divided between places: 80 equal ones on 64 places leave some place two.

/// What else is known of a schedule, and wanted of its bound.
struct PackingDetail {
  /// A bound that reaches this may be told as this.
  Ticks enough = std::numeric_limits<Ticks>::max();
  /// Of the only schedule that is bounded, by stage (`pass_counts`): passes that are in no pair take their full time.
  /// Empty: not known.
  std::span<const PassCounts> counts{};
};

/// Whatever the cut, the schedule of `kinds` and the order of devices, of layers whose least part of a stage is known
/// (`LayerPrices::least`; 0 where it is not): the largest of
///     all passes and updates, packed into places (into pairs of places where copies run in both directions);
///     one microbatch forwards, and then all backwards and updates packed: there is no gradient before;
///     the same, and the forwards that were not done by then: nothing that they keep is free before the first gradient,
///     so a place has done no more of them than it has memory for beside weights and state. A forward whose stash is
///     dropped runs again for as long; this is left out where schedules move stashes away;
///     where pairs hide communication, all that is computed, packed, and what nothing can hide: the communication of
///     the forwards before the first gradient, and of backwards after the last forward; all passes again, on places
///     that begin one after another, where the first stages stand in the order of places; of a stage on each place in
///     order, exactly as many stages as there are places, each with the forwards before it and the backwards of the
///     stages before it after its own; of two stages on each place, there and back (`turned`, not `deep`), and of
///     copies in both directions, the same with the forwards before the second stage, too: beside what the place does
///     of the first one meanwhile.
/// Where it is known which passes of a schedule are in pairs (`PackingDetail::counts`): the same without what is said
/// of communication, but with every other pass at its full time, of the stage that has the least of it. Such a pass is
/// on its device by itself, and a pair is no shorter than what its halves compute; before its first pass, a place waits
/// for a microbatch's full forwards.
Ticks packing_bound(const LayerPrices& prices, std::int32_t places, std::int64_t microbatches,
                    const ScheduleKinds& kinds, const PackingDetail& detail = {});

}  // namespace plumb
