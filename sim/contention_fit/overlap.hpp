#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/cluster/contention.hpp"
#include "models/ground/units.hpp"
#include "sim/timeline/timeline.hpp"

namespace plumb {

/// A part of an action's time during which the set of other actions, messages and collectives under way is the same.
struct OverlapInterval {
  double ns = 0;
  std::array<std::uint16_t, kComputeLoads> others{};  ///< actions on other devices, by kind
  std::uint16_t messages = 0;                         ///< messages being sent from the action's device or to it
  std::uint16_t collectives = 0;                      ///< collectives that the action's device takes part in
  std::size_t step = 0;                               ///< index into `Overlap::steps`

  bool alone() const;
};

/// The time between two consecutive begins or ends of anything in a run.
struct LoadStep {
  double ns = 0;
  std::uint16_t active = 0;  ///< number of devices that compute
};

/// An action of a run, with the intervals of its time.
struct OverlappedAction {
  DeviceId device{};
  StageId stage{};
  Load kind{};
  std::int64_t update = 0;
  double ns = 0;
  std::size_t first = 0;  ///< index into `Overlap::intervals`
  std::size_t end = 0;    ///< one past the last
};

/// What was under way beside every action of a run whose devices are all in one node. An overlapped pair of the
/// schedule is one action.
struct Overlap {
  std::vector<OverlappedAction> actions;
  std::vector<OverlapInterval> intervals;
  std::vector<LoadStep> steps;  ///< steps of the whole run, in order of time from 0 on
};

/// `timeline` must have spans.
Overlap overlap_of(const Timeline& timeline);

}  // namespace plumb
