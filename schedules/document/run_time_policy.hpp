#pragma once

#include <cstdint>
#include <vector>

#include "schedules/document/action.hpp"

namespace plumb {

/// A rule by which devices decide while they run, instead of lists: `policy` of a document.
struct RunTimePolicy {
  enum class Choice : std::uint8_t {
    kPriority,  ///< opportunistic: the first of `priorities` that is ready, of several the oldest microbatch
    kArrival,   ///< message driven: what became ready first, a forward that a limit held back when there was room
  };

  Choice choice = Choice::kPriority;
  std::vector<Op> priorities;  ///< F, and B or both I and W; R: made again in time for the gradient, if one must come
  std::vector<std::int64_t>
      limits;  ///< microbatches of a stage that a device keeps at most: one, or by device; empty: any

  friend bool operator==(const RunTimePolicy&, const RunTimePolicy&) = default;

  /// Of `device`; 0: any number.
  std::int64_t limit(std::size_t device) const { return limits.empty() ? 0 : limits[limits.size() == 1 ? 0 : device]; }
};

}  // namespace plumb
