#include "schedules/catalogue/synchronous/warmup_policy.hpp"

namespace plumb {

Schedule dapple_replicated(const ScheduleParams& params);

/// Early backward: warm up by one of two policies, then alternate one backward with one forward, then drain.
/// `policy=a` (default) warms up with p - d forwards, the order of 1f1b; `policy=b` with 2(p - d) - 1, so that a
/// transfer in each direction overlaps compute. Device d keeps at most that many activations, and at most
/// `limit=K` (the paper's D). With `recompute=always` it keeps inputs of its stage instead, and one activation. Any p
/// and m. With `replicas=2-1-1` stages are held by several devices, see `dapple_replicated`.
/// (DAPPLE: Fan et al., arXiv 2007.01045, section 3.2; AlibabaPAI/DAPPLE)
///
///   p = 3, m = 4, policy=b
///   d0: 0F0 0F1 0F2 0F3 0B0 0B1 0B2 0B3 0U0
///   d1: 1F0 1F1 1F2 1B0 1F3 1B1 1B2 1B3 1U0
///   d2: 2F0 2B0 2F1 2B1 2F2 2B2 2F3 2B3 2U0
Schedule dapple(const ScheduleParams& params) {
  if (params.options.contains("replicas")) return dapple_replicated(params);
  const std::string policy = choice("dapple", params, "policy", {"a", "b"});
  Schedule schedule = alternating_pipeline("dapple", params, policy == "a" ? WarmupPolicy::kA : WarmupPolicy::kB);
  schedule.parameters["policy"] = policy;
  return schedule;
}

}  // namespace plumb
