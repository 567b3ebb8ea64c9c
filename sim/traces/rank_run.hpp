#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedules/document/action.hpp"
#include "sim/traces/kineto.hpp"

namespace plumb {

/// One thing that a rank did, found in its trace. Times are those of the rank's clock.
struct TracedAction {
  Action action;
  std::int32_t step = 0;  ///< the how-many-th occurrence of the action on this rank
  std::int64_t begin_ns =
      0;  ///< the range's begin: the program turned to the action, and may have waited for a message
  std::int64_t start_ns = 0;  ///< the work's begin, after the wait; equal to `begin_ns` where nothing was waited for
  std::int64_t end_ns = 0;
  std::int64_t operators_ns = 0;  ///< of work: how long operators ran in it; on a GPU all of it
};

/// What one rank did, in order of begin.
struct RankRun {
  std::string file;
  std::int32_t rank = 0;
  std::vector<TracedAction> work;      ///< on the compute lane
  std::vector<TracedAction> messages;  ///< SEND and RECV: the calls that issue them, not the messages under way
  std::vector<TracedAction> others;    ///< UNSHARD, REDUCE_GRAD, RESHARD
  std::int32_t steps = 0;
};

/// Finds what torch.distributed.pipelining's `_PipelineScheduleRuntime` did: ranges named `PP:3F7`, `PP:3SEND_F7`,
/// `PP:(0F8;7B0)OVERLAP_F_B`.
///
/// On the host a range of work begins before the wait for its message. The work begins where the last wait inside the
/// range ends: an annotation `wait` or `gloo:recv`, or an operator of c10d. The halves of an overlapped pair run
/// one after the other there; the second one begins at the first operator of autograd, after the waits before it.
/// Where the trace has ranges as the GPU saw them, these are the work, and the host's are not looked at.
///
/// Throws `Error` where the trace has no such ranges, and where actions did not occur equally often: every step must do
/// the same.
RankRun rank_run(const RankTrace& trace);

}  // namespace plumb
