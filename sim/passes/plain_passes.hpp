#pragma once

#include <optional>
#include <vector>

#include "schedules/program/program.hpp"
#include "sim/rules/run_times.hpp"

// Plain lanes wait for nothing but the ends of instrs, so all that a run of them must know of an instr is one word, its
// end. Their runs are a few times as fast as those of all programs (one_pass.hpp).

namespace plumb {

/// Whether lanes wait for nothing but the ends of instrs: no transfers, no collectives, no overlapped pairs, no jitter,
/// no contention and no costs of a runtime.
bool has_plain_lanes(const Program& program);

/// What `run_one_pass` gives, in less than half the time. Requires `has_plain_lanes(program)`. Nothing when the lanes
/// deadlock.
std::optional<RunTimes> run_plain_times(const Program& program);

/// What a summary needs of one lane.
struct LaneTotals {
  Ticks busy = 0;
  Ticks useful = 0;
  Ticks latency = 0;  ///< idle time between first start and last end that waited for a message under way
  Ticks first_start = 0;
  Ticks last_end = 0;
  Ticks first_update = -1;      ///< end of the last U of the first update; -1 without
  Ticks last_update = -1;       ///< end of the last U
  std::int64_t peak_stash = 0;  ///< in the units of `StashChanges`

  friend bool operator==(const LaneTotals&, const LaneTotals&) = default;
};

/// Whether `run_totals` applies: plain lanes, and changes of the stash that fit 32 bits.
bool has_plain_waits_only(const Program& program);

/// As `run_plain_times`, but keeps only totals: one word per instr is written and no list is made.
/// Requires `has_plain_waits_only(program)`. Nothing when the lanes deadlock.
std::optional<std::vector<LaneTotals>> run_totals(const Program& program);

}  // namespace plumb
