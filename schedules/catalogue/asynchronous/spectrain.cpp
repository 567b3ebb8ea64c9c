#include <string>
#include <utility>
#include <vector>

#include "schedules/catalogue/asynchronous/flush_free.hpp"
#include "schedules/document/methods.hpp"

namespace plumb {

/// PipeDream's order with predicted weights instead of a stash. Stage r predicts its weights floor(r / 2) + p - r - 1
/// updates ahead for a forward and floor(r / 2) for a backward: what they will be when the microbatch is back at stage
/// 0 (`prediction=paper`). The released code predicts p - r - 1 ahead and uses that for the backward too
/// (`prediction=released`). With m > 1 the same moments are fewer updates ahead
/// (schedules/versions/predicted_reads.hpp), unless `ahead=published` keeps these numbers. One version of the weights,
/// and room for one prediction, or all that are read at once (method spectrain). Device d keeps p - d activations. Any
/// p and m (m = 1: the paper). (Chen et al., SpecTrain, arXiv 1809.02839)
///
///   p = 4, m = 1: updates ahead, forward/backward
///   paper     d0: 3/0  d1: 2/0  d2: 2/1  d3: 1/1
///   released  d0: 3    d1: 2    d2: 1    d3: 0
Schedule spectrain(const ScheduleParams& params) {
  const std::string which = choice("spectrain", params, "prediction", {"paper", "released"});
  Schedule schedule = flush_free_schedule("spectrain", params, {Timing::k1f1b});
  schedule.parameters["prediction"] = which;
  schedule.weights.policy = WeightPolicy::kPredicted;
  Method method{"spectrain", {}};
  if (which == "released") method.parameters["released"] = 1;
  if (choice("spectrain", params, "ahead", {"order", "published"}) == "published") {
    schedule.parameters["ahead"] = "published";
    method.parameters["published"] = 1;
  }
  return with_methods(std::move(schedule), std::vector<Method>{method});
}

}  // namespace plumb
