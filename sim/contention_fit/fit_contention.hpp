#pragma once

#include <span>

#include "sim/contention_fit/contention_fit.hpp"
#include "sim/timeline/timeline.hpp"

namespace plumb {

/// How much longer actions take in company, from timelines of one machine (one node) with spans.
///
/// An action of work w (the median of the same action alone on its device, at full clock) that meets n_j(t) others of
/// kind j, m(t) messages and c(t) collectives has gone on at the rate
///
///     (1 - fall s(t)) (1 - slowdown_m m - slowdown_c c) / (1 + sum of gamma_ij(n_j))
///
/// so that the integral of the rate over its time is w. s follows the number of devices at work with a lag
/// (`clock_response.hpp`). The curves gamma_ij are linear between the counts 1, 2, 4, 8, ... and the largest one met;
/// the sum of |integral / w - 1| is made smallest (reweighted Gauss-Newton), no unknown below 0. Medians and absolute
/// errors: single disturbed actions move nothing. Intervals are those of the bootstrap over updates, alone times
/// included.
///
/// What the runs do not tell is left out and named in `unknown`: actions that are never alone, points hardly met,
/// points always met together with others, and a clock that the rest could stand for as well.
ContentionFit fit_contention(std::span<const Timeline> timelines, const ContentionFitOptions& options = {});

}  // namespace plumb
