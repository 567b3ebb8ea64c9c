#pragma once

#include <optional>
#include <vector>

#include "models/ground/units.hpp"

namespace plumb {

/// What a device holds from `time` on.
struct StashPoint {
  Ticks time = 0;
  double amount = 0;  ///< in the units of `DeviceSummary::peak_activations`

  friend bool operator==(const StashPoint&, const StashPoint&) = default;
};

/// Stashes over time, where bytes are not known: for pages. Documents of timelines do not have them.
struct StashCurves {
  std::vector<std::vector<StashPoint>> devices;  ///< by device, then time; empty: not asked for
  double share = 1;                              ///< how many times 1/p of the model a stash of one stage belongs to
  std::optional<double> limit;                   ///< most that a device may hold, in stashes of 1/p of the model

  friend bool operator==(const StashCurves&, const StashCurves&) = default;
};

}  // namespace plumb
