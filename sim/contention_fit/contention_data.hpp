#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "sim/contention_fit/clock_response.hpp"
#include "sim/contention_fit/contention_curves.hpp"
#include "sim/contention_fit/contention_fit.hpp"
#include "sim/contention_fit/overlap.hpp"

namespace plumb {

/// All runs of one kind of action of one stage on one device while nothing else was under way.
struct AloneGroup {
  AloneTime time;
  std::vector<double> ns;
  std::vector<double> fallen_ns;     ///< time of each, weighted by how far the clock had fallen (0 to 1)
  std::vector<std::size_t> blocks;   ///< `SeenAction::block` of each
  std::vector<std::size_t> actions;  ///< index of each into `ContentionData::actions`
};

/// A measured action, prepared for the fit.
struct SeenAction {
  OverlappedAction overlapped;  ///< indices are into `ContentionData::intervals`
  std::size_t group = 0;        ///< index into `ContentionData::groups`
  std::size_t block = 0;        ///< one block per update of a timeline: what the bootstrap draws
};

/// The actions of several runs, grouped by what they are.
struct ContentionData {
  std::vector<OverlapInterval> intervals;
  std::vector<SeenAction> actions;
  std::vector<AloneGroup> groups;
  std::vector<std::size_t> block_begin;  ///< by timeline, and one past the end
  std::vector<LoadStep> steps;           ///< steps of all timelines
  std::vector<std::size_t> step_begin;   ///< by timeline, and one past the end
  std::vector<double> fallen;            ///< by step; empty: no clock is followed

  ContentionData(std::span<const Timeline> timelines, std::int64_t first_update);

  /// Makes the clock follow `shape` from now on.
  void follow(const ClockShape& shape);
  double fallen_in(const OverlapInterval& interval) const { return fallen.empty() ? 0 : fallen[interval.step]; }
  /// Returns the times alone at full clock, by group, if the clock falls by `fall`. `weight` says how often each block
  /// counts.
  std::vector<double> work(double fall, std::span<const double> weight) const;

  /// Returns how often each block is drawn, timeline by timeline: the bootstrap over updates.
  std::vector<double> drawn_blocks(std::mt19937_64& random) const;

  bool knows(const SeenAction& action, std::int64_t least_alone) const {
    return groups[action.group].time.count >= least_alone;
  }
  /// Returns how long each unknown applied during the action, in times of the action alone, by unknown.
  std::vector<double> exposure(const ContentionCurves& curves, const SeenAction& action) const;
  /// Share of the action's time during which others of kinds without a curve are under way, except those that
  /// `absorbed` names (of x kComputeLoads + by).
  double share_unknown(const ContentionCurves& curves, const SeenAction& action,
                       const std::vector<bool>& absorbed) const;

 private:
  void add(const Timeline& timeline, std::int64_t first_update);
};

}  // namespace plumb
