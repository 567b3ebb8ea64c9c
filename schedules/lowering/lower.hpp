#pragma once

#include "models/cluster/cluster.hpp"
#include "models/costs/stage_costs.hpp"
#include "schedules/document/schedule.hpp"
#include "schedules/lowering/lower_options.hpp"
#include "schedules/program/program.hpp"

namespace plumb {

/// Adds to a valid schedule everything it implies: updates where the document has none, transfers, collectives,
/// buffer lifetimes, the weight version that every action reads.
///
/// Transfers are made where `makes_transfers` says so; otherwise edges between devices are latencies. Explicit
/// SEND/RECV actions of the document fix `issue` and `post`. Throws `Error` for what the executors cannot honour, e.g.
/// a delay policy whose version does not exist yet (names the smallest legal delay), or tied weights across stages in
/// an asynchronous schedule. `schedule` must be valid (schedules/checks/validate.hpp).
Program lower(const Schedule& schedule, const StageCosts& costs, const Cluster* cluster = nullptr,
              const LowerOptions& options = {});

}  // namespace plumb
