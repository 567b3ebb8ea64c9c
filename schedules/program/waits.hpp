#pragma once

#include <algorithm>
#include <span>

#include "schedules/program/program.hpp"

// Units: what stands together in a lane. A unit is one instr, or an overlapped pair of two; both start together, when
// everything is there that either waits for, and end together.

namespace plumb {

/// First instr after the unit that begins with `first`.
inline InstrIndex unit_end(const Program& program, InstrIndex first) {
  return first + (program.instrs[first].action.overlaps_next ? 2U : 1U);
}

/// First instr of the unit that `at` is in. The end of a lane begins a unit, too.
inline InstrIndex unit_begin(const Program& program, InstrIndex at) {
  return at > 0 && program.instrs[at - 1].action.overlaps_next ? at - 1 : at;
}

/// First instr of the unit before the one that begins with `first`, which must not be the first of its lane.
inline InstrIndex unit_before(const Program& program, InstrIndex first) { return unit_begin(program, first - 1); }

/// What the instrs [first, end) wait for.
inline std::span<const Wait> waits_of(const Program& program, InstrIndex first, InstrIndex end) {
  const std::uint32_t begin = program.instrs[first].first_wait;
  return std::span(program.waits).subspan(begin, program.instrs[end].first_wait - begin);
}
/// What one instr waits for, whether or not it is half of a pair.
inline std::span<const Wait> waits_of(const Program& program, InstrIndex at) { return waits_of(program, at, at + 1); }

/// What `wait.via` names, when it is not one of the two kinds of plain edge.
constexpr bool is_plain(const Wait& wait) { return wait.via >= Wait::kLatency; }
constexpr bool is_for_collective(const Wait& wait) { return !is_plain(wait) && (wait.via & Wait::kCollectiveBit) != 0; }
constexpr bool is_for_transfer(const Wait& wait) { return (wait.via & Wait::kCollectiveBit) == 0; }
constexpr std::uint32_t collective_of(const Wait& wait) { return wait.via & ~Wait::kCollectiveBit; }

/// Time between the end of `wait.source` and the moment when the wait is over, where nothing else comes in between.
inline Ticks latency_of(const Program& program, const Wait& wait) {
  return wait.via == Wait::kLatency ? program.comm.value_or(0) : 0;
}

/// Whether `holds(instr)` for every instr whose end comes before what `wait` is for: the one that issues a message, the
/// members of a collective, or the one that makes the value. Ends with the first for which it does not.
template <class Holds>
bool all_sources(const Program& program, const Wait& wait, Holds&& holds) {
  if (is_for_transfer(wait)) return holds(program.transfers[wait.via].issue);
  if (!is_for_collective(wait)) return holds(wait.source);
  return std::ranges::all_of(program.collectives[collective_of(wait)].members, holds);
}

/// Whether `holds(wait)` for everything that the unit [first, end) waits for. Ends with the first for which it does
/// not. The engines ask it at every step, so it must not become a call.
template <class Holds>
[[gnu::always_inline]] inline bool all_waits(const Program& program, InstrIndex first, InstrIndex end, Holds&& holds) {
  for (const Wait& wait : waits_of(program, first, end)) {
    if (!holds(wait)) return false;
  }
  return true;
}

/// Whether the instr, a unit of its own, starts together with instrs of other lanes.
inline bool starts_together(const Program& program, InstrIndex at) {
  return !program.together.empty() && program.together[at] != 0;
}

/// Time of the host before the waits of the unit that begins with `first`; 0 where the runtime costs nothing.
inline Ticks host_before(const Program& program, InstrIndex first) {
  if (!program.runtime.costs()) return 0;
  Ticks sum = 0;
  for (InstrIndex member = first; member != unit_end(program, first); ++member) {
    sum += program.runtime.host[program.instrs[member].row];
  }
  return sum;
}

/// Whether the sender waits for its send at the end of its lane, where nothing comes later.
inline bool is_awaited_at_end(const Program& program, const Transfer& transfer) {
  return transfer.sent == program.lane_begin[index(program.channels[transfer.channel].from) + 1];
}

}  // namespace plumb
