#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/sources/run_profile.hpp"
#include "sim/timeline/timeline.hpp"

namespace plumb {

/// A file of a traced run as it is on disk, packed by gzip or not.
struct TraceFile {
  std::string name;
  std::string bytes;
};

/// A run that a profiler traced, rank by rank.
struct TracedRun {
  Timeline timeline;                           ///< of one step
  std::vector<std::int64_t> step_ns;           ///< length of every traced step, first begin to last end over all ranks
  std::int32_t step = 0;                       ///< the one that `timeline` shows
  RunProfile profile;                          ///< what the undisturbed steps cost
  std::vector<std::int64_t> clock_offsets_ns;  ///< what was added to the times of each rank
};

/// Whether a file holds a trace: it is packed by gzip, or is JSON with `traceEvents`.
bool is_traced_run(std::string_view bytes);

/// Puts the traces of all ranks together: a measured timeline with the causes of all idle time.
///
/// `step`: which one (from 0); without it the one of (lower) median length. Devices are ranks. Work lasts from the end
/// of the wait for its message (`rank_run.hpp`) to its end; everything else is idle time with a cause:
/// - `compute`: until the producer's work ended, on another rank;
/// - `transfer_bandwidth`: of a message, as much as the fastest one between these two ranks took, call to arrival;
/// - `transfer_queue`: what it took longer;
/// - `overhead`: the host: between the end of work and the program's turning to the next one, between the end of the
///   producer's work and the call that sends;
/// - `warmup` and `drain` as in simulated runs.
///
/// A message arrives when the wait for it ends. Clocks are aligned by causality (`clocks.hpp`).
///
/// Throws `Error` where a rank is missing or there twice, files are of different jobs, an action's producer does not
/// occur, or no offsets of clocks make every message arrive after it was sent.
TracedRun read_traced_run(std::vector<TraceFile> files, std::optional<std::int32_t> step = std::nullopt);

}  // namespace plumb
