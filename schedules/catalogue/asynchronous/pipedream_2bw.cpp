#include <string>

#include "schedules/catalogue/asynchronous/flush_free.hpp"

namespace plumb {

/// 1F1B without flush on two versions of the weights: microbatch k reads version max(floor(k / m) - 1, 0) in its
/// forward and backward on every stage, so the delay is 1 everywhere. Device d keeps p - d activations and two
/// versions. m >= p - 1 (slots: m >= 2p - 1), so that the version is there when stage 0 asks for it; the paper asks for
/// m >= p. `delay=d`, beyond the paper: version max(floor(k / m) - d, 0) and d + 1 versions, for m >= (p - 1) / d.
/// (Narayanan et al., PipeDream-2BW, arXiv 2006.09503, section 3.1; order of its released no-flush loop)
///
///   p = 3, m = 2, 3 updates; the number after : is the version that F and B read
///   d0: F0:0 F1:0 F2:0 B0 F3:0 B1 U0 F4:1 B2 F5:1 B3 U1 B4 B5 U2
///   d1: F0:0 F1:0 B0 F2:0 B1 U0 F3:0 B2 F4:1 B3 U1 F5:1 B4 B5 U2
///   d2: F0:0 B0 F1:0 B1 U0 F2:0 B2 F3:0 B3 U1 F4:1 B4 F5:1 B5 U2
Schedule pipedream_2bw(const ScheduleParams& params) {
  constexpr std::string_view kName = "pipedream-2bw";
  const std::int64_t m = params.num_microbatches;
  const std::int64_t delay = whole_number(kName, params, "delay", 1);
  require(delay <= kMostMicrobatches, kName,
          "delay (" + std::to_string(delay) + ") must be at most " + std::to_string(kMostMicrobatches));
  const Timing timing = timing_of(kName, params, {Timing::k1f1b, Timing::kSlots});
  const std::int64_t distance = delay_of(timing, params.num_devices, 0);
  const std::int64_t least = (distance + m - 1) / m;
  require(delay >= least, kName,
          "num_microbatches (" + std::to_string(m) + ") times delay (" + std::to_string(delay) + ") must be at least " +
              std::to_string(distance) + "; the smallest delay is " + std::to_string(least));
  Schedule schedule = flush_free_schedule(kName, params, {Timing::k1f1b, Timing::kSlots});
  schedule.weights.policy = delay == 1 ? WeightPolicy::kDoubleBuffer : WeightPolicy::kDelay;
  schedule.weights.delay = static_cast<std::int32_t>(delay);
  if (delay > 1) schedule.parameters["delay"] = delay;
  return schedule;
}

}  // namespace plumb
