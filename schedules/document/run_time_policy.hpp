#pragma once

#include <cstdint>
#include <vector>

#include "schedules/document/action.hpp"

namespace plumb {

/// A rule by which devices decide while they run, instead of lists: `policy` of a document.
struct RunTimePolicy {
  enum class Choice : std::uint8_t {
    /// Opportunistic: the first of `priorities` that is ready; of several actions, the oldest microbatch.
    kPriority,
    /// Message driven: what became ready first. A forward that a limit held back becomes ready when there is room.
    kArrival,
  };

  Choice choice = Choice::kPriority;
  /// F, and B or both I and W. R: recomputed in time for the gradient, if the stage waits for one.
  std::vector<Op> priorities;
  /// The most microbatches of a stage that a device keeps: one limit for all, or by device; empty: no limit.
  std::vector<std::int64_t> limits;

  friend bool operator==(const RunTimePolicy&, const RunTimePolicy&) = default;

  /// Of `device`; 0: any number.
  std::int64_t limit(std::size_t device) const { return limits.empty() ? 0 : limits[limits.size() == 1 ? 0 : device]; }
};

}  // namespace plumb
