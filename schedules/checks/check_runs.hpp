#pragma once

#include <span>
#include <vector>

#include "schedules/checks/violation.hpp"
#include "schedules/document/schedule.hpp"
#include "schedules/lowering/lower_options.hpp"
#include "schedules/runnability/transfer_mode.hpp"

namespace plumb {

/// Why a schedule without other faults does not run to its end; empty when it does. What runs is its `Program`, as
/// `lower` makes it for simulator and trainer, with costs of nothing: updates and reductions added, collectives,
/// copies, and messages that leave where the document sends them and are waited for by nobody but who takes their
/// value.
///
/// With `modes` also whether it runs when messages travel so, with the receives and send buffers of `options`: a
/// finding for each mode in which it does not.
///
/// What a network adds is not known here: weights that two stages share are reduced over both, and wait for both.
std::vector<Violation> check_runs(const Schedule& schedule, std::span<const TransferMode> modes = {},
                                  const LowerOptions& options = {});

}  // namespace plumb
