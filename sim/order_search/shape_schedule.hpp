#pragma once

#include <cstdint>

#include "schedules/document/schedule.hpp"
#include "sim/order_search/block_problem.hpp"
#include "sim/order_search/schedule_blocks.hpp"

namespace plumb {

/// A document of `orders` of such blocks as `shape_blocks` makes, for m microbatches; one unit of their times is 1 ms.
/// Every forward on one device is a stage. A block of several devices is extra work X on each of them, after another X
/// that takes no time and that all of them wait for (`extra_edges`): so they begin together, and no engine needs to
/// know of such blocks. Its stash is not counted by a simulation. Throws `Error` for a device without a stage, and for
/// stages of which none follows another.
Schedule shape_schedule(const BlockProblem& problem, const BlockOrders& orders, std::int64_t num_microbatches);

}  // namespace plumb
