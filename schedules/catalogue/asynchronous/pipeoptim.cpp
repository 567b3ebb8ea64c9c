#include <utility>
#include <vector>

#include "schedules/catalogue/asynchronous/flush_free.hpp"
#include "schedules/document/methods.hpp"

namespace plumb {

/// PipeDream's order with predicted weights in the forward: stage r predicts, from the optimizer's own step, the
/// weights p - r - 1 updates ahead, which is what its backward will find in memory and read; with m > 1 that is fewer
/// updates ahead (schedules/versions/predicted_reads.hpp), unless `ahead=published` keeps these numbers. One version of
/// the weights, and room for one prediction (method pipeoptim). Device d keeps p - d activations. Any p and m (m = 1:
/// the paper). The released code looks p - r ahead; here it is the paper's number. (Guan et al., PipeOptim, arXiv
/// 2312.00839)
///
///   p = 4, m = 1: updates ahead in the forward
///   d0: 3  d1: 2  d2: 1  d3: 0
Schedule pipeoptim(const ScheduleParams& params) {
  Schedule schedule = flush_free_schedule("pipeoptim", params, {Timing::k1f1b});
  schedule.weights.policy = WeightPolicy::kPredicted;
  Method method{"pipeoptim", {}};
  if (choice("pipeoptim", params, "ahead", {"order", "published"}) == "published") {
    schedule.parameters["ahead"] = "published";
    method.parameters["published"] = 1;
  }
  return with_methods(std::move(schedule), std::vector<Method>{method});
}

}  // namespace plumb
