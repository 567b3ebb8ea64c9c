#pragma once

#include <string_view>

#include "schedules/document/schedule.hpp"
#include "schedules/program/program.hpp"

namespace plumb {

// Why one check before a run suffices, and no addition while it runs has to be checked.
//
// At every moment of a run something is under way: an action, a message or a copy (sending, or its latency), an
// abstract latency, a collective. Otherwise everything that can start would have started, and the run would be over.
// Each of them is under way once. So the run ends no later than the sum of all their times; on shared links, too,
// because messages that share a link are together at least as fast as one alone. Every moment is between 0 and that
// sum, and so is the busy, the useful and the idle time of a device, each cause of it, and what all devices are busy
// together. Where actions may take longer than their time (jitter, devices that slow each other down), the sum is
// multiplied by the most that they can.
//
// With the sum at most `kMostRun` = 2^61, the sum or difference of any two of these fits in 64 bits. The sum itself is
// formed in 128 bits. The jump over a steady state adds multiples of a period that end at moments of the whole run, so
// the sum of the whole schedule limits them, too. Areas (devices x time) are floating-point numbers.

/// Throws `Error` that begins with `name` when what happens in a run of `program` takes more than `kMostRun` together.
void check_time(const Program& program, std::string_view name);

/// The same for all of `schedule`, of which `program` is a part: every action of an op takes as long as the longest one
/// in the program, and so do messages, copies and collectives.
void check_time(const Schedule& schedule, const Program& program);

}  // namespace plumb
