#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/traces/readers/rank_trace.hpp"

namespace plumb {

/// A forward or backward of a trace that does not name its actions.
struct UnnamedWork {
  bool backward = false;
  std::int64_t begin_ns = 0;  ///< the program turned to it, and may have waited for a message
  std::int64_t start_ns = 0;  ///< after the wait
  std::int64_t end_ns = 0;
  std::int64_t receive_begin_ns = 0;  ///< the calls that post what it receives
  std::int64_t receive_end_ns = 0;    ///< equal to `receive_begin_ns` where nothing was received
  std::int64_t send_begin_ns = 0;     ///< the calls that send what it made
  std::int64_t send_end_ns = 0;       ///< equal to `send_begin_ns` where nothing was sent
  std::optional<std::int64_t> send_waited_ns =
      std::nullopt;  ///< when the wait for the send ended, where the trace tells
};

/// Finds the forwards and backwards of a rank that runs one stage under `Schedule1F1B` or `ScheduleGPipe` of
/// torch.distributed.pipelining, by what its host did between the calls that send and receive (`c10d::send`,
/// `c10d::recv_`):
/// - operators of autograd are a backward;
/// - other operators are a forward where a call that receives stands before them (but on the first rank) and one that
///   sends behind them (but on the last); otherwise they are neither (scaling of gradients, the optimizer).
///
/// Waits, barriers and the optimizer divide what lies between two calls; the longest part is the work. It begins where
/// the wait before it ends. Requires the rank's stage to be its rank. Where the rank is not known, the first one is
/// the one that sends before it receives, the last one the one that runs a backward before it sends. Empty where the
/// rank is alone.
std::vector<UnnamedWork> unnamed_work(const RankTrace& trace);

}  // namespace plumb
