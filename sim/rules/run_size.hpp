#pragma once

#include "models/ground/work_size.hpp"
#include "schedules/document/schedule.hpp"
#include "sim/rules/sim_options.hpp"

namespace plumb {

/// What it takes to simulate all actions of a schedule, without jumps over what repeats. `messages`: values travel over
/// links of a cluster.
WorkSize run_size(const Schedule& schedule, bool messages, const SimOptions& options);

/// Throws `Error` when the run has more actions than can be counted, or needs more memory than this process can get:
/// one line that says how much of each there is. Calls `options.on_full_run` otherwise.
void check_run_size(const Schedule& schedule, bool messages, const SimOptions& options);

}  // namespace plumb
