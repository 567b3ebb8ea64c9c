#pragma once

#include "schedules/document/schedule.hpp"
#include "schedules/program/program.hpp"
#include "sim/events/ready_order.hpp"

namespace plumb {

/// The fixed lists that the devices of a document with a `policy` decide on in one run. `program` must be the schedule
/// lowered; jitter and costs are those of the program, so other ones may decide otherwise. Throws `Error` when the
/// limits of the policy bring the run to a standstill.
RunTimeOrder policy_order(const Schedule& schedule, const Program& program, std::uint64_t seed);

}  // namespace plumb
