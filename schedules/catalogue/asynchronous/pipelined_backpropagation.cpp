#include "schedules/catalogue/asynchronous/flush_free.hpp"

namespace plumb {

/// Every step each stage runs the forward of the newest microbatch to reach it and the backward of the newest gradient;
/// the last stage runs both for the same microbatch. D = 2(p - 1 - d) microbatches lie between the two on device d.
/// m = 1 is the paper: an update after every backward. A backward reads what is in memory, or with `weights=stash`
/// what its forward read (ceil(D / m) + 1 versions). Device d keeps D + 1 activations. Any p and m.
/// (Kosson et al., Pipelined Backpropagation at Scale, arXiv 2003.11666; `timing=1f1b`: one action at a time)
///
///   p = 3, m = 1, 4 updates; [FB] is an overlapped pair
///   d0: F0 F1 F2 F3 B0 U0 B1 U1 B2 U2 B3 U3
///   d1: F0 F1 [F2 B0] U0 [F3 B1] U1 B2 U2 B3 U3
///   d2: F0 B0 U0 F1 B1 U1 F2 B2 U2 F3 B3 U3
Schedule pipelined_backpropagation(const ScheduleParams& params) {
  constexpr std::string_view kName = "pipelined-backpropagation";
  Schedule schedule = flush_free_schedule(kName, params, {Timing::kFused, Timing::k1f1b});
  const std::string weights = choice(kName, params, "weights", {"latest", "stash"});
  schedule.weights.policy = weights == "stash" ? WeightPolicy::kStash : WeightPolicy::kLatest;
  return schedule;
}

}  // namespace plumb
