#pragma once

#include <cstdint>

#include "models/ground/work_size.hpp"
#include "schedules/document/schedule.hpp"
#include "sim/rules/sim_options.hpp"

namespace plumb {

/// Actions of one run at most.
inline constexpr std::int64_t kMostActionsRun = std::int64_t{1} << 31U;

/// Returns what it takes to simulate all actions of a schedule, without jumps over what repeats. `messages`: values
/// travel over links of a cluster.
WorkSize run_size(const Schedule& schedule, bool messages, const SimOptions& options);

/// Estimates the size for compute and latencies alone, where lists stay as they are written: memory for what is under
/// way.
WorkSize written_run_size(const Schedule& schedule);

/// Throws `Error` when the run has more actions than can be counted, or needs more memory than this process can get:
/// one line that says how much of each there is. Calls `options.on_full_run` otherwise.
void check_run_size(const Schedule& schedule, bool messages, const SimOptions& options);

}  // namespace plumb
