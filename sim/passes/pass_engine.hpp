#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedules/program/program.hpp"
#include "schedules/program/program_index.hpp"
#include "sim/lanes/metrics.hpp"
#include "sim/rules/run_times.hpp"
#include "sim/rules/sim_options.hpp"

namespace plumb {

/// The fast engine: every lane runs until it needs something that does not exist yet, then waits on exactly that thing,
/// whose arrival wakes it. Each instr is looked at once and each wait at most twice, so a run costs O(instrs + waits +
/// transfers), without queue and clock; only calls that send may stand in a queue, one per lane (open_calls.hpp). It
/// needs an order that is fixed before the run: in-order lanes, channels that serve their messages in a known order,
/// and no link that several channels share.

/// Why one pass cannot run this program ("links are shared"); empty when it can.
std::optional<std::string> why_not_one_pass(const Program& program, const SimOptions& options);

/// When everything happens. Requires `!why_not_one_pass(indexed.program(), options)`. Empty when the lanes deadlock.
std::optional<RunTimes> run_one_pass(const ProgramIndex& indexed, const SimOptions& options);

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

/// Whether `run_totals` applies: waits without transfers and collectives, no overlapped pairs, no jitter, no costs of a
/// runtime, and changes of the stash that fit 32 bits.
bool has_plain_waits_only(const Program& program);

/// As `run_one_pass`, but keeps only totals: one word per instr is written and no list is made.
/// Requires `has_plain_waits_only(program)`. Nothing when the lanes deadlock.
std::optional<std::vector<LaneTotals>> run_totals(const Program& program);

}  // namespace plumb
