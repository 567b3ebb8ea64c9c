#pragma once

#include <functional>
#include <vector>

#include "sim/plan_search/plan_job.hpp"
#include "tools/terminal/process_share.hpp"

namespace plumb {

/// Lets the processes of a job share the simulations of one search, which all of them make: plan i of a batch is
/// simulated by process i mod their number, and all are told all. What depends on a clock or on a signal is decided for
/// all of them together, when they tell each other. So the answer is that of one process.
class SharedTrials {
 public:
  using Stop = std::function<bool()>;

  /// Replaces `trials`, `stop` and `stop_seeds` of `effort` where there are several processes. Must outlive the search.
  SharedTrials(const ProcessShare& share, PlanEffort& effort);
  SharedTrials(const SharedTrials&) = delete;
  SharedTrials& operator=(const SharedTrials&) = delete;

  /// Of published planners, whose answers depend on the time that they have: those that `make` gives the first process.
  /// `make` is asked with what stops it.
  std::vector<PipelinePlan> plans(const PlanRanges& ranges,
                                  const std::function<std::vector<PipelinePlan>(const Stop&)>& make);

 private:
  std::vector<PlanTrial> trials(std::size_t count, const std::function<PlanTrial(std::size_t)>& work);

  const ProcessShare& share_;
  Stop stop_;  ///< of this process
  Stop stop_seeds_;
  bool stopped_ = false;  ///< for all of them
  bool seeds_stopped_ = false;
  bool seeds_made_ = false;
};

}  // namespace plumb
