#pragma once

#include "schedules/program/program.hpp"

namespace plumb {

/// What `wait.via` names, when it is not one of the two kinds of plain edge.
constexpr bool is_plain(const Wait& wait) { return wait.via >= Wait::kLatency; }
constexpr bool is_for_collective(const Wait& wait) { return !is_plain(wait) && (wait.via & Wait::kCollectiveBit) != 0; }
constexpr bool is_for_transfer(const Wait& wait) { return (wait.via & Wait::kCollectiveBit) == 0; }
constexpr std::uint32_t collective_of(const Wait& wait) { return wait.via & ~Wait::kCollectiveBit; }

/// First instr after the unit that begins with `i`: an overlapped pair is one unit of two instrs.
inline InstrIndex unit_end(const Program& program, InstrIndex i) {
  return i + (program.rows[program.instrs[i].row].overlapped ? 2U : 1U);
}

/// Whether the instr, a unit of its own, starts together with instrs of other lanes.
inline bool starts_together(const Program& program, InstrIndex at) {
  return !program.together.empty() && program.together[at] != 0;
}

/// Time of the host before the waits of the unit that begins with `i`; 0 where the runtime costs nothing.
inline Ticks host_before(const Program& program, InstrIndex i) {
  if (!program.runtime.costs()) return 0;
  Ticks sum = 0;
  for (InstrIndex member = i; member != unit_end(program, i); ++member) {
    sum += program.runtime.host[program.instrs[member].row];
  }
  return sum;
}

/// Whether the sender waits for its send at the end of its lane, where nothing comes later.
inline bool is_awaited_at_end(const Program& program, const Transfer& transfer) {
  return transfer.sent == program.lane_begin[index(program.channels[transfer.channel].from) + 1];
}

}  // namespace plumb
