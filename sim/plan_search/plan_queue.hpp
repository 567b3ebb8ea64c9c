#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "sim/plan_search/plan_candidate.hpp"
#include "sim/plan_search/plan_setups.hpp"

namespace plumb {

/// Parts of a search that wait to be opened, those of the least estimate first. Plans whose schedules are searched
/// themselves, each for as long as many others take, have a queue of their own.
class PlanQueue {
 public:
  explicit PlanQueue(const std::vector<PlanSetup>& setups);

  /// Unless its bound reaches `best`.
  void push(PlanCandidate candidate, Ticks best);

  /// Returns what to open next: about 32 candidates, whatever the number of threads, so that answers do not depend on
  /// it. At most `most_plans` of them are plans, and the bounds of all are below `best`. Slow ones come when no other
  /// candidate has a smaller estimate.
  std::vector<PlanCandidate> take(std::int64_t most_plans, Ticks best);

  /// Returns the least bound of all that waits; the largest number of ticks where nothing does.
  Ticks least_bound() const;
  std::int64_t size() const { return std::ssize(bounds_) + waiting_.size(); }

 private:
  void admit_setups(Ticks best);
  PlanCandidate pop(std::set<PlanCandidate>& queue);

  const std::vector<PlanSetup>& setups_;
  WaitingSetups waiting_;    ///< in no queue yet
  std::int64_t candidates_;  ///< numbered so far
  std::set<PlanCandidate> quick_;
  std::set<PlanCandidate> slow_;
  std::multiset<Ticks> bounds_;  ///< bounds of what is in a queue
};

}  // namespace plumb
