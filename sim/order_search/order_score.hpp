#pragma once

#include <compare>
#include <functional>
#include <optional>

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
  /// Actions that keep their order among each other on a device; none: no action does.
  std::function<bool(const Action&)> is_given = {};
};

/// How good an order is: the makespan, then the sum of the devices' ends.
struct OrderScore {
  Ticks makespan = 0;
  Ticks ends = 0;

  friend auto operator<=>(const OrderScore&, const OrderScore&) = default;
};

/// `run` without what only pictures and explanations need.
OrderRun without_details(OrderRun run);

/// Nothing for an order that hangs, that its runtime does not accept, that does not fit, or whose document is wrong
/// (`check_document`).
std::optional<OrderScore> score_order(const Schedule& schedule, const OrderRun& run);

}  // namespace plumb
