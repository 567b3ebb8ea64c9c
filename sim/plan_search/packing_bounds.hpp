#pragma once

#include <cstdint>
#include <span>

#include "sim/plan_search/layer_prices.hpp"
#include "sim/plan_search/plan_bounds.hpp"

namespace plumb {

// Lower bounds that know that layers are not divided between places: 80 equal ones on 64 places leave some place two.

/// Of all ways to put `loads` into bins, each of which takes `rates` a tick and `at_once` from the beginning: the least
/// time after which all can be done, or less. Loads are seen as many equal ones and a few others (which are tried in
/// all ways where bins are alike), or, where there are many others, as those that are at least so large.
Ticks packed_time(std::span<const Ticks> loads, std::span<const double> rates, double at_once = 0);

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
Ticks packing_bound(const LayerPrices& prices, std::int32_t places, std::int64_t microbatches,
                    const ScheduleKinds& kinds);

}  // namespace plumb
