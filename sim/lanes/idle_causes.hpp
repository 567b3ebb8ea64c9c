#pragma once

#include <array>

#include "schedules/program/program.hpp"
#include "schedules/program/program_index.hpp"
#include "sim/rules/run_times.hpp"
#include "sim/rules/sim_options.hpp"
#include "sim/timeline/timeline.hpp"

namespace plumb {

/// Idle time by cause.
using CauseTimes = std::array<Ticks, kIdleCauseCount>;

/// Why lanes were idle: the one rule that splits a gap by cause, for every engine.
///
/// A gap before an instr goes from the end of the one before to its start, and is cut at the moments of a lane
/// (sim/rules/transfer_semantics.hpp) in order of time:
/// 1. Blocking mode: until every message issued at the instr before has arrived, message by message, as a receiver
/// would wait.
/// 2. Until everything that is waited for here (`Transfer::sent`) is done with, in order of index: a send as
///    `split_send_wait` says, a copy (EVICT, LOAD) is all memory.
/// 3. Until the last of the instr's waits is over; of several that end together the first in the Program counts. Going
///    back from there: a message's own times (`split_receive_wait`), `Program::comm` as latency, a collective's
///    duration; what is left, back to the end of (2), is computing on another device.
/// 4. What the lane takes after that is the runtime's host (overhead), and so is the sender's time between the
///    end of what offers a message and the call that sends it.
/// The parts add up to the gap exactly. (sim/SPECIFICATION.md, §9.3)
class IdleCauses {
 public:
  /// All three must outlive this.
  IdleCauses(const ProgramIndex& indexed, const RunTimes& times, const SimOptions& options);

  /// Adds the gap before the unit [first, end) of lane instrs, which begins at `from`, to `causes` and returns its
  /// largest part's cause (of equal ones computing comes last, the others are in the order of `IdleCause`). `previous`
  /// is the first instr of the unit before; the gap must not be the warm-up.
  IdleCause add_gap(InstrIndex previous, InstrIndex first, InstrIndex end, Ticks from, CauseTimes& causes) const;

 private:
  void add_own_messages(InstrIndex first, InstrIndex end, Ticks& at, CauseTimes& gap) const;
  void add_send_waits(InstrIndex first, InstrIndex end, Ticks& at, CauseTimes& gap) const;
  /// Returns when the last of the waits is over; `at` if none ends later.
  Ticks add_value_waits(InstrIndex first, InstrIndex end, Ticks at, CauseTimes& gap) const;
  /// As a receiver waits for the message; what the call that sends it came late is overhead.
  void add_message(std::uint32_t transfer, Ticks at, CauseTimes& gap) const;
  void add_wait(const Wait& wait, Ticks at, CauseTimes& gap) const;

  const Program& program_;
  const RunTimes& times_;
  TransferRules rules_;
  const IndexLists* issued_ = nullptr;  ///< blocking mode with transfers only
  const IndexLists* sent_ = nullptr;    ///< with transfers only
};

}  // namespace plumb
