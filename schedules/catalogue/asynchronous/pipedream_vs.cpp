#include "schedules/catalogue/asynchronous/flush_free.hpp"

namespace plumb {

/// PipeDream with vertical sync: the number of the version that stage 0 read travels with the microbatch, and every
/// stage uses that version in its forward and backward. Order, activations and `timing` are PipeDream's; every stage
/// keeps ceil(D / m) + 1 versions, where D = p - 1 (slots: 2p - 1) is the delay of stage 0. Any p and m.
/// (Narayanan et al., PipeDream, arXiv 1806.03377, section 3.3; off by default in the released code)
///
///   p = 3, m = 1, 4 updates; the small number is the version that F and B read
///   d0: F0:0 F1:0 F2:0 B0 U F3:1 B1 U B2 U B3 U
///   d1: F0:0 F1:0 B0 U F2:0 B1 U F3:1 B2 U B3 U
///   d2: F0:0 B0 U F1:0 B1 U F2:0 B2 U F3:1 B3 U
Schedule pipedream_vs(const ScheduleParams& params) {
  Schedule schedule = flush_free_schedule("pipedream-vs", params, {Timing::k1f1b, Timing::kSlots});
  schedule.weights.policy = WeightPolicy::kVerticalSync;
  return schedule;
}

}  // namespace plumb
