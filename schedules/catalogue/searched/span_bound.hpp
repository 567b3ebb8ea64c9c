#pragma once

#include "schedules/catalogue/searched/order_problem.hpp"

namespace plumb {

/// A lower bound on the longest device span of every order of `problem`, every device as early as it can.
///
/// Write C for the kinds of the chain (first 0, last C - 1), t(d, k) for the time of a pass, e(d, k) for the earliest
/// start of kind k on device d: the sum of the times and delays of the chain before it. No pass of kind k starts
/// earlier, and device d starts exactly at e(d, 0), because only F of microbatch 0 can be its first pass. At every
/// point of its word the stash of a device is within its limit. The bound is the largest of these:
///
/// 1. *Work and windows.* The span of d is its work plus its idle time. Until e(d, x) only kinds before x and their W
///    have started, so the device worked at most as long as microbatches can take that have gone no further and whose
///    stashes fit (`most_value`): the rest of e(d, x) - e(d, 0) is idle. Likewise between the end of the last pass of
///    kind y and the start of the last pass of kind C - 1, which is at least e(d, C-1) - e(d, y) - t(d, y): every
///    microbatch has then at least kind y behind it and all stashes fit, which limits the work that is left. The two
///    windows are disjoint, and both idle times count, if the last pass of kind y starts after e(d, x): if y >= x, or
///    if fewer than m passes of kind y fit before kind x.
/// 2. *Head, body, tail.* Device b runs all m passes of kinds i to j; the first starts at e(b, i) or later, and from
///    the end of the last one the last microbatch needs the rest of the chain up to kind C - 1 of d, which a W of d
///    follows. For i = 0 and j = C - 1 the body is longer than the passes: by windows as in 1, in which only passes of
///    the chain count as work, and by the W that must be over before its end because the stashes of those that are not
///    must fit. (Before kind C / 2, the first I, there is no W, so that window counts besides.)
/// 3. *Stash times time.* A microbatch keeps the stash of a stage from the start of its F to the end of its I, and the
///    rest of it until the end of its W. The sum over all microbatches is at most limit times span.
/// 4. *Chains through memory.* If k is the number of stashes of a stage that fit, then F of microbatch j >= k starts
///    after I of microbatch j - k (and, if W of that one must free its stash, too, after it or after the next I). So
///    the last F starts floor((m - 1) / k) rounds after one of the first, and head and tail as in 2 come besides.
Ticks least_span(const OrderProblem& problem);

}  // namespace plumb
