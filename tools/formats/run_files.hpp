#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/timeline/timeline.hpp"

namespace plumb {

/// The runs in these files, in their order. A timeline document is a run; all traces of a profiler that stand next to
/// each other are one run, a file per rank (sim/traces/traced_run.hpp). `-` is standard input. Throws `Error` as the
/// readers do.
std::vector<Timeline> read_runs(std::span<const std::string> paths);

}  // namespace plumb
