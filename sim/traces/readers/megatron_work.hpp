#pragma once

#include <vector>

#include "sim/traces/readers/rank_trace.hpp"
#include "sim/traces/readers/unnamed_work.hpp"

namespace plumb {

/// The forwards and backwards of a rank of Megatron-LM, from annotations (NVTX) of its host:
/// - ranges named like its timers and functions: `forward-compute`, `forward_step` (or `forward-step`),
///   `backward-compute`, `backward_step`, with any path in front (`megatron.core.pipeline_parallel.schedules.`);
/// - else what lies between its calls of p2p_communication, which `--nvtx-ranges` annotates: behind one that receives
///   forward is a forward, behind one that receives backward a backward, up to the next call.
///
/// Empty where there are neither. Throws `Error` where the calls are those of its interleaved schedule
/// (`send_forward_recv_forward`), which do not tell forwards from backwards.
std::vector<UnnamedWork> megatron_work(const RankTrace& trace);

}  // namespace plumb
