#include "schedules/asynchronous/flush_free.hpp"
#include "schedules/asynchronous/prediction.hpp"

namespace plumb {

/// PipeDream's order with predicted weights in the forward: stage r predicts, from the optimizer's own step, the
/// weights p - r - 1 updates ahead, which is what its backward will find in memory and read. One version of the
/// weights, and room for one prediction (declared as a correction buffer). Device d keeps p - d activations. Any p and
/// m (m = 1: the paper). The released code looks p - r ahead; here it is the paper's number. (Guan et al., PipeOptim,
/// arXiv 2312.00839)
///
///   p = 4, m = 1: updates ahead in the forward
///   d0: 3  d1: 2  d2: 1  d3: 0
Schedule pipeoptim(const ScheduleParams& params) {
  Schedule schedule = flush_free_schedule("pipeoptim", params, {Timing::k1f1b});
  schedule.weights.policy = WeightPolicy::kPredicted;
  schedule.weights.correction_buffers = {"prediction"};
  for (std::int32_t r = 0; r < params.num_devices; ++r) {
    schedule.weights.prediction.forward.push_back(own_backward_steps(params.num_devices, r));
    schedule.weights.prediction.backward.push_back(0);
  }
  return schedule;
}

}  // namespace plumb
