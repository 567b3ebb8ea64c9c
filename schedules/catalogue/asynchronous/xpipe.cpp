#include <utility>

#include "schedules/catalogue/asynchronous/flush_free.hpp"
#include "schedules/document/methods.hpp"

namespace plumb {

/// Microbatches of several minibatches overlap in 1F1B order; the first microbatch of a minibatch predicts the weights
/// of the moment when the minibatch is back at stage 0, once for the forward and once for the backward, and the others
/// use its predictions: stage r looks round((p + m - r/2 - 2) / m) and round((m + floor(r/2) - 1) / m) updates ahead
/// (halves to even; the rounding is not published). One version of the weights, and two predictions (method
/// xpipe). Device d keeps p - d activations. Any p and m.
/// (Guan et al., XPipe, arXiv 1911.04610)
///
///   p = 4, m = 2: updates ahead, forward/backward
///   d0: 2/0  d1: 2/0  d2: 2/1  d3: 1/1
Schedule xpipe(const ScheduleParams& params) {
  Schedule schedule = flush_free_schedule("xpipe", params, {Timing::k1f1b});
  schedule.weights.policy = WeightPolicy::kPredicted;
  return with_methods(std::move(schedule), "xpipe");
}

}  // namespace plumb
