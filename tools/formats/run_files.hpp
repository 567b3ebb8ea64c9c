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

/// Runs, and what to call them: the name of the file, "rank0.json and 3 more" for the traces of one run.
struct NamedRuns {
  std::vector<Timeline> runs;
  std::vector<std::string> names;
};

/// The runs in these files, in their order. A timeline document is a run; all traces of a profiler that stand next to
/// each other are one run, a file per rank (sim/traces/traced_run.hpp). `-` is standard input. Throws `Error` as the
/// readers do.
NamedRuns read_runs(std::span<const std::string> paths);

}  // namespace plumb
