#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "models/ground/units.hpp"
#include "sim/plan_search/plan_setups.hpp"

namespace plumb {

struct WaitingSetup {
  Ticks estimate = 0;       ///< no less than its bound
  std::int64_t number = 0;  ///< from 1, in the order of the setups
  std::size_t setup = 0;
  Ticks least_bound = 0;  ///< of this one and all behind it
};

/// Setups that may fit, in the order in which a search opens them: by estimate, then by number. There are hundreds of
/// thousands, and most of them are never opened; so they are no parts of its queue before their turn comes.
class WaitingSetups {
 public:
  explicit WaitingSetups(const std::vector<PlanSetup>& setups);

  bool empty() const { return waiting_.empty(); }
  std::int64_t size() const { return std::ssize(waiting_); }
  /// Requires that there is one.
  const WaitingSetup& first() const { return waiting_.back(); }
  void pop() { waiting_.pop_back(); }
  /// The largest number of ticks where there is none.
  Ticks least_bound() const {
    return waiting_.empty() ? std::numeric_limits<Ticks>::max() : waiting_.back().least_bound;
  }

 private:
  std::vector<WaitingSetup> waiting_;  ///< the first one last
};

}  // namespace plumb
