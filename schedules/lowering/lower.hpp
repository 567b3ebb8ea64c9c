#pragma once

#include <optional>

#include "models/cluster/cluster.hpp"
#include "models/costs/stage_costs.hpp"
#include "schedules/document/schedule.hpp"
#include "schedules/lowering/lower_options.hpp"
#include "schedules/program/program.hpp"
#include "schedules/program/written_program.hpp"

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

/// The same work with its repeats left as they are written. Nothing where `lower` has to look at every action: where
/// messages travel or gradients are reduced, where actions are sliced, merged, paired or recomputed, where updates are
/// missing or read other versions, where a stage takes values in another order than that in which they are given.
/// Throws as `lower` does for costs and sizes.
std::optional<WrittenProgram> lower_written(const Schedule& schedule, const StageCosts& costs,
                                            const Cluster* cluster = nullptr, const LowerOptions& options = {});

}  // namespace plumb
