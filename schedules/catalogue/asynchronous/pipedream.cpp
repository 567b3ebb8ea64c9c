#include "schedules/catalogue/asynchronous/flush_free.hpp"

namespace plumb {

/// 1F1B without flush: the pipeline is filled once, every stage updates after the backward of each m-th microbatch,
/// and a backward reads the weights that its forward read (weight stashing). Any p and m (m = 1: the paper). Device d
/// keeps p - d activations and ceil((p - 1 - d) / m) + 1 versions of its weights. (Narayanan et al., PipeDream, arXiv
/// 1806.03377; `timing=slots`: the model of PipeMare's paper)
///
///   p = 3, m = 2, 3 updates
///   d0: 0F0 0F1 0F2 0B0 0F3 0B1 0U0 0F4 0B2 0F5 0B3 0U1 0B4 0B5 0U2
///   d1: 1F0 1F1 1B0 1F2 1B1 1U0 1F3 1B2 1F4 1B3 1U1 1F5 1B4 1B5 1U2
///   d2: 2F0 2B0 2F1 2B1 2U0 2F2 2B2 2F3 2B3 2U1 2F4 2B4 2F5 2B5 2U2
Schedule pipedream(const ScheduleParams& params) {
  Schedule schedule = flush_free_schedule("pipedream", params, {Timing::k1f1b, Timing::kSlots});
  schedule.weights.policy = WeightPolicy::kStash;
  return schedule;
}

}  // namespace plumb
