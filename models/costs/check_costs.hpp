#pragma once

#include "models/costs/stage_costs.hpp"

namespace plumb {

/// Throws `Error` naming the stage and the time when one of `costs` is below 0 or above `kMostCost`.
void check_costs(const StageCosts& costs);

}  // namespace plumb
