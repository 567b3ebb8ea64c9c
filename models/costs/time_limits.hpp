#pragma once

#include <string_view>

#include "models/ground/units.hpp"

namespace plumb {

// The clock is a 64-bit integer, and nothing may overflow it unnoticed. Two limits see to that:
//
// * A cost, that is the time of one action of one stage, a latency or a collective, is at most `kMostCost`. Checked
// when
//   costs are used (`check_costs`), wherever they come from.
// * Everything that happens in a run takes at most `kMostRun` together. Checked once per program, before it runs
//   (schedules/lowering/time_limit.hpp, which says why that suffices).

/// 104 days in nanoseconds; a double holds every integer up to here.
inline constexpr Ticks kMostCost = Ticks{1} << 53U;
/// 73 minutes, for a pass of one layer or a measured part of a stage: a million of these can be added up.
inline constexpr Ticks kMostLayerTime = Ticks{1} << 42U;
/// 73 years in nanoseconds.
inline constexpr Ticks kMostRun = Ticks{1} << 61U;

/// `ticks` rounded to the nearest; throws `Error` that `what` takes too long for more than `most`.
Ticks checked_ticks(double ticks, std::string_view what, Ticks most = kMostCost);

}  // namespace plumb
