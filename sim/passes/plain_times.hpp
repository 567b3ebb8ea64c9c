#pragma once

#include <optional>

#include "schedules/program/program.hpp"
#include "sim/rules/run_times.hpp"

namespace plumb {

/// Whether lanes wait for nothing but the ends of instrs: no transfers, no collectives, no overlapped pairs, no jitter,
/// no contention and no costs of a runtime.
bool has_plain_lanes(const Program& program);

/// What `run_one_pass` gives, for programs with plain lanes, in less than half the time: nothing is asked about an
/// instr but its row and its waits. Requires `has_plain_lanes(program)`. Empty when the lanes deadlock.
std::optional<RunTimes> run_plain_times(const Program& program);

}  // namespace plumb
