#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "models/ground/units.hpp"
#include "schedules/program/lane_run.hpp"
#include "schedules/program/program.hpp"
#include "schedules/program/waits.hpp"
#include "sim/rules/transfer_semantics.hpp"

namespace plumb {

/// When everything in a Program happened: what an engine finds out, and all that metrics, causes and curves need.
struct RunTimes {
  std::vector<Ticks> start;              ///< by instr; both members of an overlapped pair: that of the pair
  std::vector<Ticks> end;                ///< by instr; both members of an overlapped pair: that of the pair
  std::vector<TransferTimes> transfers;  ///< by transfer
  std::vector<Ticks> sent_at;            ///< by transfer: when its send is over; empty where that is when it is done
  std::vector<Ticks> collective_end;     ///< by collective
  std::vector<Ticks> ready;   ///< by instr that begins a unit: the host is done, what it waits for may still be missing
  std::vector<Ticks> issued;  ///< by instr that begins a unit: the calls that send what it made are over
  std::vector<Ticks>
      called;          ///< by transfer: the begin of the call that sends it. All three: empty where they cost nothing
  Ticks makespan = 0;  ///< last end of an instr or collective

  /// Returns when the sender need no longer wait for the message. (That of a batch is over when the batch is; a real
  /// run's when the message has been handed over.)
  Ticks sent(std::uint32_t transfer) const { return sent_at.empty() ? transfers[transfer].done : sent_at[transfer]; }
  Ticks& sent(std::uint32_t transfer) { return sent_at.empty() ? transfers[transfer].done : sent_at[transfer]; }

  friend bool operator==(const RunTimes&, const RunTimes&) = default;
};

/// Returns the moment that a wait is for; a plain edge is over `latency_of` later.
inline const Ticks& moment_of(const RunTimes& times, const Wait& wait) {
  if (is_for_transfer(wait)) return times.transfers[wait.via].available;
  if (is_for_collective(wait)) return times.collective_end[collective_of(wait)];
  return times.end[wait.source];
}
inline Ticks& moment_of(RunTimes& times, const Wait& wait) {
  return const_cast<Ticks&>(moment_of(std::as_const(times), wait));
}

/// Returns when what an instr waits for is there.
inline Ticks over_at(const Program& program, const RunTimes& times, const Wait& wait) {
  return moment_of(times, wait) + latency_of(program, wait);
}

/// Asks for the memory that a lane needs a few steps after `at`.
inline void prefetch_steps(const Program& program, const RunTimes& times, InstrIndex at) {
  __builtin_prefetch(program.instrs.data() + at + kStepsAhead);
  __builtin_prefetch(program.waits.data() + program.instrs[at].first_wait + kStepsAhead);
  __builtin_prefetch(times.start.data() + at + kStepsAhead, 1);
  __builtin_prefetch(times.end.data() + at + kStepsAhead, 1);
}

}  // namespace plumb
