#pragma once

#include <array>
#include <functional>
#include <string>
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

  /// Replaces `trials`, `stop`, `stop_seeds` and `stop_pricing` of `effort` where there are several processes. Must
  /// outlive the search.
  SharedTrials(const ProcessShare& share, PlanEffort& effort);
  SharedTrials(const SharedTrials&) = delete;
  SharedTrials& operator=(const SharedTrials&) = delete;

  /// Of published planners, whose answers depend on the time that they have: those that `make` gives the first process.
  /// `make` is asked with what stops it.
  std::vector<PipelinePlan> plans(const PlanRanges& ranges,
                                  const std::function<std::vector<PipelinePlan>(const Stop&)>& make);

 private:
  std::vector<PlanTrial> trials(std::size_t count, const std::function<PlanTrial(std::size_t)>& work);

  /// What stops the search, its seeds and its pricing, one after the other.
  static constexpr std::size_t kStops = 3;

  using Stops = std::array<bool, kStops>;

  /// What has stopped in this process, which it tells the others with its part of the work.
  Stops own_stops() const;
  /// What has stopped in one process has stopped in all.
  void take_stops(const Stops& told);

  const ProcessShare& share_;
  std::array<Stop, kStops> stops_;  ///< of this process
  Stops stopped_{};                 ///< for all of them
  bool seeds_made_ = false;
};

}  // namespace plumb
