#pragma once

#include "schedules/program/program_index.hpp"
#include "sim/rules/run_times.hpp"
#include "sim/rules/sim_options.hpp"

namespace plumb {

/// When everything happens, by the engine that `options.engine` says. Throws `Error` when that cannot do it, and for a
/// deadlock, naming its cycle.
RunTimes run_program(const ProgramIndex& indexed, const SimOptions& options);

}  // namespace plumb
