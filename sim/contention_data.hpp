#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/company.hpp"
#include "sim/contention_curves.hpp"
#include "sim/contention_fit.hpp"

namespace plumb {

/// Everything that was seen of one action of one stage on one device while nothing else was under way.
struct AloneGroup {
  AloneTime time;
  std::vector<double> ns;
  std::vector<std::size_t> blocks;  ///< of each
};

/// An action that was seen, prepared for the fit.
struct SeenAction {
  MetAction met;          ///< its stretches are those of `ContentionData`
  std::size_t group = 0;  ///< into `ContentionData::groups`
  std::size_t block = 0;  ///< update of a timeline: what the bootstrap draws
};

/// The actions of several runs, grouped by what they are.
struct ContentionData {
  std::vector<Stretch> stretches;
  std::vector<SeenAction> actions;
  std::vector<AloneGroup> groups;
  std::vector<std::size_t> block_begin;  ///< by timeline, and one past the end

  ContentionData(std::span<const Timeline> timelines, std::int64_t first_update);

  bool knows(const SeenAction& action, std::int64_t least_alone) const {
    return groups[action.group].time.count >= least_alone;
  }
  /// How many actions' worth of its time alone each unknown was met for, by unknown.
  std::vector<double> exposure(const ContentionCurves& curves, const SeenAction& action) const;
  /// Share of the action's time with others of which `curves` has no curve, except those that `absorbed` names
  /// (of x kComputeLoads + by).
  double share_unknown(const ContentionCurves& curves, const SeenAction& action,
                       const std::vector<bool>& absorbed) const;
};

}  // namespace plumb
