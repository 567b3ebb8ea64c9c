#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedules/program/program.hpp"
#include "sim/rules/run_times.hpp"
#include "sim/rules/sim_options.hpp"
#include "sim/timeline/timeline.hpp"

namespace plumb {

/// What a piece of the critical path is spent on.
enum class CriticalKind : std::uint8_t {
  kCompute,     ///< `instr` runs
  kLatency,     ///< an edge or message is under way
  kSending,     ///< `transfer` is being sent
  kQueue,       ///< `transfer` is held by its batch
  kCollective,  ///< `collective` runs
  kHost,        ///< the runtime's host, on the way to `instr` or behind it
};

/// One piece of the critical path.
struct CriticalPiece {
  CriticalKind kind = CriticalKind::kCompute;
  std::uint32_t what = 0;  ///< instr (latency of a plain edge: its source), transfer or collective
  Ticks start = 0;
  Ticks end = 0;

  friend bool operator==(const CriticalPiece&, const CriticalPiece&) = default;
};

/// A chain of things that waited for each other without a gap, from time 0 to the makespan: nothing ends earlier unless
/// one of them does. Of several such chains the one that stays on its device longest, going back from the last end, is
/// taken; pieces of no length are left out.
std::vector<CriticalPiece> critical_path(const ProgramIndex& indexed, const RunTimes& times, const SimOptions& options);

/// Ticks of the path by kind of action ("F", "B", ..., "F+B", "F+W" for overlapped pairs) and by cause
/// ("transfer_latency", "transfer_bandwidth", "transfer_queue", "collective", "overhead"); they add up to the makespan.
/// This is also the sensitivity: when all actions of a kind became a small share x faster, the makespan would fall by x
/// times its ticks.
std::vector<CriticalShare> critical_shares(const Program& program, const std::vector<CriticalPiece>& path);

/// The makespan if all actions of `kind` (a name of `critical_shares`; not a cause) took `factor` times as long: the
/// exact answer to "what if W were 10 % faster" (0.9). Durations are rounded to the nearest tick. Throws `Error` for
/// other kinds and for a negative factor.
Ticks makespan_if(const Program& program, const SimOptions& options, std::string_view kind, double factor);

}  // namespace plumb
