#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/timeline/timeline.hpp"
#include "sim/traces/traced_run.hpp"

namespace plumb {

/// The run whose traces these files are, one per rank. `-` is standard input. Throws `Error` as `read_traced_run` does.
TracedRun read_traces(std::span<const std::string> paths, std::optional<std::int32_t> step = std::nullopt);

/// What a real run cost, from the document of its timeline (`trace -o`, `train --json`). Throws `Error` where the
/// timeline has no profile, with the reason.
RunProfile profile_of_timeline(std::string text, const std::string& path);

/// Runs, and what to call them: the name of the file; of traces "rank0.json and 3 more, step 1", in short "step 1".
struct NamedRuns {
  std::vector<Timeline> runs;
  std::vector<std::string> names;
  std::vector<std::string> short_names;
  std::vector<std::size_t> run;  ///< a number for every run of the files: all steps of traces have the same one
  bool traced = false;           ///< some are of traces
};

/// The runs in these files, in their order. A timeline document is a run; all traces of a profiler that stand next to
/// each other, a file per rank, give a run for each of their steps that was not disturbed (`calm_steps`). `-` is
/// standard input. Throws `Error` as the readers do.
NamedRuns read_runs(std::span<const std::string> paths);

/// Whether an argument that may be a schedule or a run is a schedule: a name, exec:FILE, a launch file, or a file that
/// begins as schedules do. Everything else is read as a run.
bool is_given_schedule(const std::string& name_or_file);

/// The one run in a file: a timeline document, or the step of median length of a trace.
Timeline read_run(const std::string& path);

}  // namespace plumb
