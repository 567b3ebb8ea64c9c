#pragma once

#include <cstdint>

#include "sim/order_search/block_problem.hpp"

namespace plumb {

/// A lower bound on the makespan from what memory lets a device do while it waits at the start and at the end; it is
/// the one that counts where messages are slow. On one device, *takers* are blocks that take memory (forwards), and the
/// rest is done with what they took.
///
/// *Start*: none of the rest starts before the shortest chain before any of them, h. Until the first one does, only
/// takers run, and nothing is freed, so their work is at most A: what fits into the limit, the longest per stash first.
/// *End*: behind the last taker only the rest runs, of what was kept then, so that work is at most Z: the limit times
/// the most work per stash (of backwards, or of weight gradients where the first half frees a part). And the chain
/// behind the last taker is at least the shortest behind any taker, e.
///
/// So the makespan is at least h + m work - A + (shortest chain behind any block), at least (shortest chain before any
/// block) + m work - Z + e, and, unless all takers fit into memory at once, at least h + m work - A - Z + e.
Ticks least_by_windows(const BlockProblem& problem, std::int64_t num_microbatches);

}  // namespace plumb
