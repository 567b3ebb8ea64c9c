#pragma once

#include "schedules/program/program.hpp"
#include "sim/rules/index_lists.hpp"
#include "sim/rules/run_times.hpp"

namespace plumb {

/// What `wait.via` names, when it is not one of the two kinds of plain edge.
constexpr bool is_plain(const Wait& wait) { return wait.via >= Wait::kLatency; }
constexpr bool is_for_collective(const Wait& wait) { return !is_plain(wait) && (wait.via & Wait::kCollectiveBit) != 0; }
constexpr bool is_for_transfer(const Wait& wait) { return (wait.via & Wait::kCollectiveBit) == 0; }
constexpr std::uint32_t collective_of(const Wait& wait) { return wait.via & ~Wait::kCollectiveBit; }

/// When what the instr waits for is there.
inline Ticks over_at(const Program& program, const RunTimes& times, const Wait& wait) {
  if (is_for_transfer(wait)) return times.transfers[wait.via].available;
  if (is_for_collective(wait)) return times.collective_end[collective_of(wait)];
  return times.end[wait.source] + (wait.via == Wait::kLatency ? program.comm.value_or(0) : 0);
}

/// First instr behind the unit that begins with `i`: an overlapped pair is one unit of two instrs.
inline InstrIndex unit_end(const Program& program, InstrIndex i) {
  return i + (program.rows[program.instrs[i].row].overlapped ? 2U : 1U);
}

/// Transfers by `Transfer::sent`; those awaited at the end of a lane, where nothing comes later, under
/// `program.size()`.
inline IndexLists sends_by_wait(const Program& program) {
  return group_by(program.transfers.size(), program.size() + 1, [&](std::size_t t) {
    const Transfer& transfer = program.transfers[t];
    const DeviceId sender = program.channels[transfer.channel].from;
    return transfer.sent == program.lane_begin[index(sender) + 1] ? program.size() : std::size_t{transfer.sent};
  });
}

}  // namespace plumb
