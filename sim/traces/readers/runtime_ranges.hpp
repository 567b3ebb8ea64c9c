#pragma once

#include <vector>

#include "sim/traces/readers/rank_run.hpp"
#include "sim/traces/readers/rank_trace.hpp"

namespace plumb {

/// Returns whether a process whose rank is not known did what `rank_run` reads.
bool runs_pipeline(const RankTrace& trace);

/// Finds what a runtime did, by its ranges:
/// - `_PipelineScheduleRuntime` of torch.distributed.pipelining: `PP:3F7`, `PP:3SEND_F7`, `PP:(0F8;7B0)OVERLAP_F_B`;
/// - `ScheduleGPipe`: `Forward 7`, `Backward 7`;
/// - Megatron-LM, DeepSpeed: those of their functions and calls (`function_work.hpp`), counted;
/// - `Schedule1F1B`: none; forwards and backwards are found by their operators (`unnamed_work.hpp`) and counted.
///
/// On the host a range of work begins before the wait for its message. The work begins where the last wait inside the
/// range ends: an annotation `wait` or `gloo:recv`, or an operator of c10d. The halves of an overlapped pair run
/// one after the other there; the second one begins at the first operator of autograd, after the waits before it.
///
/// Where the trace has kernels, work is from the first to the last kernel that its host range launched and that is not
/// one of NCCL; messages are issued when their kernel begins. Kernels that a captured graph annotates with an action
/// are that action's, without any host range. Where a trace has ranges as the GPU saw them but no kernels, those of the
/// stream with the most of them are the work.
///
/// Named actions are numbered by how often they occurred, and steps not counted yet (`keep_whole_steps`). Throws
/// `Error` where the trace has no work.
RankRun rank_run(const RankTrace& trace);

}  // namespace plumb
