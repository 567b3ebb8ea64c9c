#pragma once

#include <optional>
#include <vector>

#include "schedules/catalogue/searched/order_problem.hpp"

namespace plumb {

/// What a device does when several passes could start, or none.
struct ListRule {
  bool backward_first =
      true;  ///< of passes that could start, the one furthest along the chain; otherwise the first one
  bool fill_short_gap = true;  ///< W also where the next input arrives before its end
};

/// The words that devices write if every one always starts what it can: passes whose input has arrived before W, W
/// while it waits for inputs or for memory. A microbatch enters a device only if the stashes of all its forwards there
/// fit, so that no device waits for memory for ever. Empty when a device cannot hold even one microbatch.
std::optional<std::vector<OrderWord>> list_order(const OrderProblem& problem, ListRule rule);

}  // namespace plumb
