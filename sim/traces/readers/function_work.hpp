#pragma once

#include <string_view>
#include <vector>

#include "sim/traces/readers/rank_run.hpp"
#include "sim/traces/readers/rank_trace.hpp"
#include "sim/traces/readers/unnamed_work.hpp"

namespace plumb {

/// What the functions of a rank's training system tell of its work.
struct FunctionWork {
  std::string_view runtime;            ///< as in `--runtime`; empty: nothing found
  std::vector<UnnamedWork> work;       ///< in order
  std::vector<TracedAction> messages;  ///< SEND and RECV, each kind numbered from 0 over the whole trace
};

/// The forwards and backwards of a rank of Megatron-LM or DeepSpeed, from calls of their functions
/// (`pipeline_functions.hpp`) on its host: annotations (NVTX, timers), or Python's calls where PyTorch's profiler
/// collected call stacks.
/// - Where functions that run passes are named, these are the work, and operators of c10d inside functions that
///   exchange are the messages. Work begins where the call before it ends.
/// - Else what lies between Megatron-LM's calls of p2p_communication, which `--nvtx-ranges` annotates: behind one that
///   receives activations is a forward, behind one that receives gradients a backward, up to the next call.
///
/// Empty where there are neither. Throws `Error` where only calls of Megatron-LM's interleaved schedule are named
/// (`send_forward_recv_forward`), which do not tell forwards from backwards.
FunctionWork function_work(const RankTrace& trace);

}  // namespace plumb
