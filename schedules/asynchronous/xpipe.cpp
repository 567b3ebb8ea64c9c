#include "schedules/asynchronous/flush_free.hpp"
#include "schedules/asynchronous/prediction.hpp"

namespace plumb {

/// Microbatches of several minibatches overlap in 1F1B order; the first microbatch of a minibatch predicts the weights
/// of the moment when the minibatch is back at stage 0, once for the forward and once for the backward, and the others
/// use its predictions: stage r looks round((p + m - r/2 - 2) / m) and round((m + floor(r/2) - 1) / m) updates ahead
/// (halves to even; the rounding is not published). One version of the weights, and two predictions (declared as
/// correction buffers). Device d keeps p - d activations. Any p and m.
/// (Guan et al., XPipe, arXiv 1911.04610)
///
///   p = 4, m = 2: updates ahead, forward/backward
///   d0: 2/0  d1: 2/0  d2: 2/1  d3: 1/1
Schedule xpipe(const ScheduleParams& params) {
  const std::int64_t m = params.num_microbatches;
  Schedule schedule = flush_free_schedule("xpipe", params, {Timing::k1f1b});
  schedule.weights.policy = WeightPolicy::kPredicted;
  schedule.weights.correction_buffers = {"forward prediction", "backward prediction"};
  schedule.weights.prediction.once_per_update = true;
  for (std::int32_t r = 0; r < params.num_devices; ++r) {
    schedule.weights.prediction.forward.push_back(xpipe_forward(params.num_devices, m, r));
    schedule.weights.prediction.backward.push_back(xpipe_backward(m, r));
  }
  return schedule;
}

}  // namespace plumb
