#pragma once

#include "schedules/lowering/lower.hpp"
#include "schedules/program/program.hpp"
#include "sim/rules/sim_options.hpp"
#include "sim/timeline/timeline.hpp"

namespace plumb {

/// Predicts what running `program` would look like. Same input, same bytes out.
/// Throws `Error` when the chosen engine cannot do what the program or the options ask for, and when a transfer mode
/// deadlocks (naming the cycle).
Timeline simulate(const Program& program, const SimOptions& options = {});

/// Simulates a folded schedule without expanding it where its repeats reach a steady state: the answer of the long way
/// in the time of a few periods. Fills what a summary holds (no spans, no memory curve). Falls back to the long way
/// where the document does not repeat; throws `Error` when that would exceed 2^31 actions.
Timeline simulate_summary(const Schedule& schedule, const StageCosts& costs, const Cluster* cluster = nullptr,
                          const LowerOptions& lowering = {}, const SimOptions& options = {});

}  // namespace plumb
