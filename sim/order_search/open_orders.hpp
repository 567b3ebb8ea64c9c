#pragma once

#include <cstdint>

#include "schedules/document/schedule.hpp"
#include "sim/order_search/block_problem.hpp"
#include "sim/order_search/schedule_blocks.hpp"

// Documents with holes: their lists hold some of the passes, in an order that is kept, and the others are open.

namespace plumb {

/// Whether the lists of `schedule` do not have all passes: of each stage and microbatch a forward and, unless it only
/// does forwards, B, or I and W, whichever each of them has. Lists with repeat blocks have all.
bool has_open_orders(const Schedule& schedule);

/// `problem`, the blocks of `schedule`, with the order that its lists give (`BlockProblem::after`). Throws
/// `Error("<name>: ...")` where a list has a pass that is not one of the blocks of its device, the same one twice, or
/// the microbatches of a pass not in turn.
BlockProblem with_given_orders(BlockProblem problem, const Schedule& schedule);

/// Orders of all passes that keep what is given: of all that could be done next, what ends first; of these backwards
/// first. Empty where that gets stuck, in memory or between orders that contradict each other.
BlockOrders completed_orders(const BlockProblem& problem, std::int64_t num_microbatches);

}  // namespace plumb
