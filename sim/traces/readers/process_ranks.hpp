#pragma once

#include <vector>

#include "sim/traces/readers/rank_run.hpp"

namespace plumb {

/// Gives runs whose profiler does not know ranks (`RankTrace::kUnknown`) their rank in the pipeline. Where stages are
/// named it is the first stage that the process holds; of `ScheduleGPipe`, which names none, every forward ends on one
/// rank after the other. Counted work of 1F1B tells it by the forwards before the first backward, of which every rank
/// runs one fewer than the rank before it (interleaved: two). Where no stages are named, actions get their rank's.
///
/// Throws `Error` where that does not give every process a rank of its own.
void rank_processes(std::vector<RankRun>& runs);

}  // namespace plumb
