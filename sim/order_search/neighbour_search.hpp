#pragma once

#include <cstdint>
#include <string>

#include "schedules/document/schedule.hpp"
#include "sim/order_search/order_score.hpp"

namespace plumb {

/// An order that was improved in steps.
struct ImprovedOrder {
  Schedule schedule;  ///< with plain lists where a step helped
  Ticks makespan = 0;
  std::int64_t simulations = 0;
};

/// Why the lists of `schedule` cannot be changed in steps; empty where they can: they hold only F, B, I, W, R, pairs of
/// these, and updates at their ends.
std::string why_no_steps(const Schedule& schedule);

/// Local search over the orders of devices: an action, or an overlapped pair, moves over its neighbours, mostly one of
/// the critical path (no other can shorten it alone); where pairs save time, two neighbours also become one, and pairs
/// part. Actions that `run.is_given` keep their order among each other. The simulator says what
/// that gives, with links, memory and all. A step is taken when it is no worse than now, or than some steps ago (late
/// acceptance: Burke and Bykov, 2017): first the makespan, then the sum of the devices' ends. The same seed gives the
/// same answer. Never worse than `schedule`, which must fit. Requires `why_no_steps(schedule).empty()`.
ImprovedOrder improve_order(const Schedule& schedule, const OrderRun& run, std::int64_t simulations,
                            std::uint64_t seed);

}  // namespace plumb
