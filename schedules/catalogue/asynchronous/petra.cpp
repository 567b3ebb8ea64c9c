#include "schedules/catalogue/asynchronous/flush_free.hpp"

namespace plumb {

/// Pipelined backpropagation over reversible stages: a backward makes the stage's activations again from what it keeps,
/// with the weights of the moment, and takes the gradient there; no version is kept. D = 2(p - 1 - d) microbatches lie
/// between a forward and its backward on device d. Any p and m (m: the paper's k, updates every k microbatches).
///
/// Here every stage is told to recompute, keeping its input from F to B: right for stages that cannot be reversed (the
/// paper's own rule for them). A reversible stage would keep nothing and get its output sent back beside the gradient;
/// for those, input memory is an upper bound and the gradient messages are half of the paper's.
/// (Rivaud et al., PETRA, arXiv 2406.02052, and its released code; `timing=1f1b`: one action at a time)
///
///   p = 3, m = 2, 2 updates; [FB] is an overlapped pair, every B starts with the recompute of its forward
///   d0: F0 F1 F2 F3 B0 B1 U0 B2 B3 U1
///   d1: F0 F1 [F2 B0] [F3 B1] U0 B2 B3 U1
///   d2: F0 B0 F1 B1 U0 F2 B2 F3 B3 U1
Schedule petra(const ScheduleParams& params) {
  Schedule schedule = flush_free_schedule("petra", params, {Timing::kFused, Timing::k1f1b});
  schedule.weights.policy = WeightPolicy::kLatest;
  Recompute all;
  all.last_stage = params.num_devices - 1;
  schedule.recompute = {all};
  return schedule;
}

}  // namespace plumb
