#pragma once

#include <cstdint>
#include <string>

#include "schedules/document/schedule.hpp"
#include "sim/order_search/repetend.hpp"
#include "sim/order_search/schedule_blocks.hpp"

namespace plumb {

/// The order of every device when `repetend` comes again for `num_microbatches` microbatches (not necessarily a
/// multiple of its own): what would belong to microbatches before the first and after the last is left out. Every
/// device as early as it can, the makespan is at most periods - 1 times the period and the time from the repetend's
/// first start to its last end.
BlockOrders repeated(const BlockProblem& problem, const Repetend& repetend, std::int64_t num_microbatches);

/// The same as a document whose size does not grow with the number of microbatches of `frame`: what is before the first
/// whole period of a device, a repeat block, and what is after the last.
Schedule repetend_schedule(Schedule frame, const BlockProblem& problem, const Repetend& repetend);

}  // namespace plumb
