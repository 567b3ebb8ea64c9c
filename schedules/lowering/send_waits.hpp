#pragma once

#include <cstdint>
#include <vector>

#include "schedules/program/program.hpp"

namespace plumb::lowering {

/// Positions in an order in which all devices take one step at a time: an instr ranks after its predecessor in the
/// lane and after everything that it waits for. Needs waits, and transfers with their issue.
std::vector<std::uint32_t> asap_ranks(const Program& program);

/// Whether the program runs to its end when a message travels only once its receive is posted (rendezvous), however
/// long anything takes. Needs transfers with issue, post and sent.
bool runs_by_rendezvous(const Program& program);

/// Moves waits for sends back where a program would hang by rendezvous: each to the first position that ranks after
/// the post of its receive. The send buffer then lives longer. Receives are posted earlier where a batch (a send and
/// a receive of one place) would hang. Counts what it moves in `Program::send_buffers`.
void put_off_send_waits(Program& program);

/// Most messages of one channel that hold a send buffer at once: from the start of their producer to the wait for them.
std::int32_t most_send_buffers(const Program& program);

}  // namespace plumb::lowering
