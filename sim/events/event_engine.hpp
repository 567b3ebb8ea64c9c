#pragma once

#include <optional>

#include "schedules/program/program.hpp"
#include "sim/rules/run_times.hpp"
#include "sim/rules/sim_options.hpp"

namespace plumb {

/// The engine that runs every program: a queue of events in order of time, at most one per lane and per link.
///
/// An event is the end of a lane's instr (or of its wait for a moment that is already known), or the end of sending of
/// a link's message. What happens at one moment happens together: lanes go as far as they get, then half-duplex links
/// choose among the messages that could start, then shared links are divided anew; work of zero length may start the
/// same moment over. The result follows sim/rules/transfer_semantics.hpp and is that of the pass engine wherever
/// that applies.
///
/// Returns nothing when the lanes deadlock (schedules/runnability/deadlock.hpp names the cycle).
std::optional<RunTimes> run_events(const Program& program, const SimOptions& options);

}  // namespace plumb
