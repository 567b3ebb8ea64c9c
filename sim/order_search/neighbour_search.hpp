#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "models/cluster/cluster.hpp"
#include "models/costs/stage_costs.hpp"
#include "schedules/document/schedule.hpp"
#include "schedules/lowering/lower_options.hpp"
#include "sim/rules/sim_options.hpp"
#include "sim/timeline/timeline.hpp"

namespace plumb {

/// How orders of a schedule are run, and which may be: everything that the simulator is told.
struct OrderRun {
  StageCosts costs{};
  const Cluster* cluster = nullptr;
  LowerOptions lowering{};
  SimOptions options{};
  std::function<bool(const Timeline&)> fits = {};  ///< into the memory; none: everything does
};

/// An order that was improved in steps.
struct ImprovedOrder {
  Schedule schedule;  ///< with plain lists where a step helped
  Ticks makespan = 0;
  std::int64_t simulations = 0;
};

/// Why the lists of `schedule` cannot be changed in steps; empty where they can: they hold only F, B, I, W, R and
/// updates at their ends.
std::string why_no_steps(const Schedule& schedule);

/// Local search over the orders of devices: an action moves over its neighbours, mostly one of the critical path (no
/// other can shorten it alone), and the simulator says what that gives, with links, memory and all. A step is taken
/// when it is no worse than now, or than some steps ago (late acceptance: Burke and Bykov, 2017): first the makespan,
/// then the sum of the devices' ends. The same seed gives the same answer. Never worse than `schedule`, which must fit.
/// Requires `why_no_steps(schedule).empty()`.
ImprovedOrder improve_order(const Schedule& schedule, const OrderRun& run, std::int64_t simulations,
                            std::uint64_t seed);

}  // namespace plumb
