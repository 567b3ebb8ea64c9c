#include "schedules/catalogue/synchronous/warmup_policy.hpp"

namespace plumb {

/// Warm up, then alternate one forward with one backward, then drain. Device d keeps at most min(p - d, m) activations
/// (`limit=K`: at most K). Any p and m.
/// (PipeDream-Flush: Narayanan et al., arXiv 2006.09503; Megatron-LM's order without interleaving)
///
///   p = 3, m = 4
///   d0: 0F0 0F1 0F2 0B0 0F3 0B1 0B2 0B3 0U0
///   d1: 1F0 1F1 1B0 1F2 1B1 1F3 1B2 1B3 1U0
///   d2: 2F0 2B0 2F1 2B1 2F2 2B2 2F3 2B3 2U0
Schedule one_f_one_b(const ScheduleParams& params) { return alternating_pipeline("1f1b", params, WarmupPolicy::kA); }

}  // namespace plumb
