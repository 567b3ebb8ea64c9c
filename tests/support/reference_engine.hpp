#pragma once

#include <optional>

#include "schedules/program/program.hpp"
#include "sim/rules/run_times.hpp"
#include "sim/simulate.hpp"

namespace plumb::testing {

/// The slow, obvious engine: writes sim/rules/transfer_semantics.hpp down as a graph of moments and takes longest
/// paths; where calls occupy the lanes, again and again until all calls take what the times that follow say they take.
/// Links of their own only. Nothing when the graph has a cycle: a deadlock.
std::optional<RunTimes> run_longest_path(const Program& program, const SimOptions& options);

/// The same for devices that take from each other (models/cluster/contention.hpp): goes from tick to tick and looks at
/// everything there is. Buffered or fifo messages, no jitter. Nothing when nobody has gone on for `patience` ticks.
std::optional<RunTimes> run_tick_by_tick(const Program& program, TransferMode mode, Ticks patience = 10000);

}  // namespace plumb::testing
