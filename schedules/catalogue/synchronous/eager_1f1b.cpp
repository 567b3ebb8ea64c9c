#include "schedules/catalogue/synchronous/warmup_policy.hpp"

namespace plumb {

/// 1f1b with nearly twice the warm-up, so that what a device waits for is on its way one action earlier: transfers of
/// up to a forward's length cost nothing in the steady part. Device d keeps at most min(2(p - d) - 1, m) activations
/// (`limit=K`: at most K). Any p and m.
/// (Zhuang et al., On Optimizing the Communication of Model Parallelism, arXiv 2211.05322; the overlap-friendly
/// schedule of Alpa; the same order as DAPPLE's policy B)
///
///   p = 3, m = 4
///   d0: 0F0 0F1 0F2 0F3 0B0 0B1 0B2 0B3 0U0
///   d1: 1F0 1F1 1F2 1B0 1F3 1B1 1B2 1B3 1U0
///   d2: 2F0 2B0 2F1 2B1 2F2 2B2 2F3 2B3 2U0
Schedule eager_one_f_one_b(const ScheduleParams& params) {
  return alternating_pipeline("eager-1f1b", params, WarmupPolicy::kB);
}

}  // namespace plumb
