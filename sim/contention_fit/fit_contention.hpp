#pragma once

#include <span>

#include "sim/contention_fit/contention_fit.hpp"
#include "sim/timeline/timeline.hpp"

namespace plumb {

/// Returns how much longer actions take while others are under way, from timelines with spans of one machine (one
/// node).
///
/// An action of work w (the median of the same action alone on its device, at full clock) that overlaps with n_j(t)
/// others of kind j, m(t) messages and c(t) collectives proceeds at the rate
///
///     (1 - fall s(t)) (1 - slowdown_m m - slowdown_c c) / (1 + sum of gamma_ij(n_j))
///
/// so that the integral of the rate over its time is w. s follows the number of devices at work with a time constant
/// (`clock_response.hpp`). The curves gamma_ij are linear between the counts 1, 2, 4, 8, ... and the largest one met;
/// the sum of |integral / w - 1| is made smallest (reweighted Gauss-Newton), no unknown below 0. Because
/// these are medians and absolute errors, single disturbed actions change nothing. Intervals are those of the bootstrap
/// over updates, alone times included.
///
/// What the runs do not determine is left out and named in `unknown`: actions that are never alone, points that hardly
/// occur or always occur together with others, and a clock that the other unknowns could explain as well.
ContentionFit fit_contention(std::span<const Timeline> timelines, const ContentionFitOptions& options = {});

}  // namespace plumb
