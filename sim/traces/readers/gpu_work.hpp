#pragma once

#include "sim/traces/readers/rank_run.hpp"
#include "sim/traces/readers/rank_trace.hpp"

namespace plumb {

/// Throws `Error` where the ranks talk by NCCL, so that GPUs ran the work, but the trace has nothing that ran on one:
/// what the host did would be taken for the work.
void check_gpu_is_traced(const RankTrace& trace);

/// Returns whether the trace has kernels that compute, and the calls that launched them.
bool has_launched_kernels(const RankTrace& trace);

/// Adds the work of a captured graph whose kernels carry actions ("PP:3F7", "3F7") as the annotations that they were
/// captured with: no host range names it when the graph is launched again. An action lasts from the first to the
/// last of its kernels in one launch. Returns whether there was any.
bool add_graph_work(const RankTrace& trace, RankRun& run);

/// Moves work that was found on the host to where the GPU ran it, and messages to where their kernels began. The
/// program turns to an action when its host range has begun and the work before it is done. Does nothing when the
/// host launched no kernels. Throws `Error` where it did, but no forward, or no backward, launched any.
void move_to_gpu(const RankTrace& trace, RankRun& run);

}  // namespace plumb
