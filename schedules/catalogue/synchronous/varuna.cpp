#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/policy_player.hpp"

namespace plumb {

/// Every stage but the last recomputes, and whoever is free takes what is there: a backward, otherwise a recompute,
/// otherwise a forward, oldest first. A recompute may begin so early that it is done when the gradient arrives, never
/// earlier; meanwhile forwards run. With `order=run-time` the document says that rule; otherwise it is played
/// through with the given costs (without: F = R = 1, B = 2, the paper's) and frozen to the order that comes about.
/// Device d < p - 1 keeps the inputs of up to 3 (p - 1 - d) microbatches or so, and one whole activation; the last one
/// keeps one activation. Any p and m.
/// (Athlur et al., Varuna, arXiv 2111.04007; released code, generate_schedule.cc)
///
///   p = 3, m = 4
///   d0: 0F0 0F1 0F2 0F3 0R0 0B0 0R1 0B1 0R2 0B2 0R3 0B3 0U0
///   d1: 1F0 1F1 1F2 1R0 1B0 1R1 1B1 1R2 1B2 1F3 1R3 1B3 1U0
///   d2: 2F0 2B0 2F1 2B1 2F2 2B2 2F3 2B3 2U0
Schedule varuna(const ScheduleParams& params) {
  require_one_chunk("varuna", params);
  Schedule schedule = looped_schedule("varuna", params, 1, updates_or(params, 1));
  RunTimePolicy policy;
  policy.priorities = {Op::kB, Op::kR, Op::kF};
  decide_by("varuna", params, policy, schedule);
  return schedule;
}

}  // namespace plumb
