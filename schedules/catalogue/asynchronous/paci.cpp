#include <string>

#include "schedules/catalogue/asynchronous/flush_free.hpp"

namespace plumb {

/// Neither flush nor stash nor prediction: gradients are accumulated for so long (m >= p - 1, slots: m >= 2p - 1) that
/// a microbatch crosses at most one update between its forward and its backward on any stage. Order and memory are
/// those of 1F1B: device d keeps p - d activations, and one version of the weights.
/// (PACI, arXiv 2606.07881)
///
///   p = 3, m = 2, 3 updates; F and B read the newest version: only the backwards marked ' read a newer one than F
///   d0: F0 F1 F2 B0 F3 B1 U0 F4 B2' F5 B3' U1 B4' B5' U2
///   d1: F0 F1 B0 F2 B1 U0 F3 B2' F4 B3 U1 F5 B4' B5 U2
///   d2: F0 B0 F1 B1 U0 F2 B2 F3 B3 U1 F4 B4 F5 B5 U2
Schedule paci(const ScheduleParams& params) {
  const Timing timing = timing_of("paci", params, {Timing::k1f1b, Timing::kSlots});
  const std::int64_t distance = delay_of(timing, params.num_devices, 0);
  require(params.num_microbatches >= distance, "paci",
          "num_microbatches (" + std::to_string(params.num_microbatches) + ") must be at least " +
              std::to_string(distance) + ", so that a microbatch crosses at most one update");
  Schedule schedule = flush_free_schedule("paci", params, {Timing::k1f1b, Timing::kSlots});
  schedule.weights.policy = WeightPolicy::kLatest;
  return schedule;
}

}  // namespace plumb
