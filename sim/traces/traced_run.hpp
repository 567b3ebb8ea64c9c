#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/sources/run_profile.hpp"
#include "sim/timeline/timeline.hpp"
#include "sim/traces/readers/trace_files.hpp"

namespace plumb {

/// A run that a profiler traced, rank by rank.
struct TracedRun {
  /// Timelines of all traced steps; each says the rest itself, too (`traced`). A document of a traced run has the one
  /// that it shows.
  std::vector<Timeline> steps;
  std::vector<std::int64_t> step_ns;           ///< length of every traced step, first begin to last end over all ranks
  std::int32_t step = 0;                       ///< the one that is shown
  std::vector<std::int32_t> ranks;             ///< rank of each device
  std::vector<std::int32_t> missing_ranks;     ///< ranks without a trace; their devices are not `known`
  std::vector<std::int64_t> clock_offsets_ns;  ///< what was added to the times of each device, in the step shown
  std::int64_t clock_residual_ns = 0;          ///< by how much a message still arrives before it was sent
  std::string backend;                         ///< what the ranks talk by: "gloo", "nccl"; empty: not told
  std::vector<std::string> left_out;           ///< sentences: what of the traces is in no step or mean
  /// What the undisturbed steps cost; none where ranks are missing, or only busy times are known.
  std::optional<RunProfile> profile;
  std::string no_profile;  ///< why there is none

  /// Returns where the step that is shown stands in `steps`.
  std::size_t shown() const { return steps.size() == 1 ? 0 : static_cast<std::size_t>(step); }
  /// Returns the timeline of the step that is shown.
  const Timeline& timeline() const { return steps[shown()]; }
  /// Returns the profile. Throws `Error` where there is none, with the reason.
  const RunProfile& known_profile() const;
};

/// Puts the traces of all ranks together: a measured timeline with the causes of all idle time.
///
/// `step`: which one (from 0); without it the one of (lower) median length. Devices are the ranks of the pipeline
/// (`traced_pipeline.hpp`). Work lasts from the end of the wait for its message (`runtime_ranges.hpp`) to its end;
/// everything else is idle time with a cause:
/// - `compute`: until the producer's work ended, on another rank;
/// - `unknown`: all of the wait for a value of a rank whose trace is missing;
/// - `transfer_bandwidth`: of a message, as much as the fastest one between these two ranks took, call to arrival;
/// - `transfer_queue`: what it took longer;
/// - `overhead`: the host: between the end of work and the program's turning to the next one, between the end of the
///   producer's work and the call that sends;
/// - `warmup` and `drain` as in simulated runs.
///
/// Timelines that the trainer measured (`train --json`) are runs of one configuration, a file for each; the one of
/// median step time is shown as it is, and all of them make the profile (`timeline_ranks.hpp`).
///
/// The timeline of a traced run (`trace -o`) holds one step, and everything else that is known of the run, so that the
/// same profile comes of it as of the traces.
///
/// A log of Megatron-LM's timers has sums per rank only (`megatron_timers.hpp`): busy and idle time, no spans, no
/// causes.
///
/// A message arrives when the wait for it ends. Clocks are aligned by causality (`clocks.hpp`).
///
/// Throws `Error` where a rank is there twice, files are of different jobs, the ranks have different steps, or no
/// offsets of clocks make every message arrive after it was sent.
TracedRun read_traced_run(std::vector<TraceFile> files, std::optional<std::int32_t> step = std::nullopt);

}  // namespace plumb
