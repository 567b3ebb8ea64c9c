#pragma once

#include <cstdint>
#include <vector>

#include "sim/campaign/campaign_result.hpp"

namespace plumb {

/// How nodes come and go in one interval.
struct IntervalNodes {
  std::int32_t ready = 0;  ///< at its beginning
  std::int32_t went = 0;   ///< since the interval before
};

/// Returns what is known of a campaign's nodes ahead of time, interval by interval.
std::vector<IntervalNodes> intervals_ahead(const CampaignProblem& problem, std::int64_t interval_ns);

/// Returns what it costs to go from one layout to another, or to take the same one again after a loss.
std::int64_t change_ns(LayoutBook& book, JobLayout to, std::int32_t survivors, const LayoutRestart& otherwise);

/// Returns the probability that none of `used` nodes is among `went` of `all`, each set as likely as any other.
double spared(std::int32_t all, std::int32_t used, std::int32_t went);

/// What a look ahead is asked.
struct LookAhead {
  std::int64_t interval_ns = 0;
  std::size_t intervals = 1;  ///< to look ahead, the one that begins included
  LayoutRestart otherwise{};  ///< restarts of layouts of which the source knows none
};

/// Returns the layout for interval `now` with which the expected samples of the intervals ahead are the most: Parcae's
/// liveput. By dynamic programming over the intervals and the best layouts of all numbers of nodes. None where no
/// layout runs.
std::optional<JobLayout> layout_ahead(LayoutBook& book, const std::vector<IntervalNodes>& nodes, std::size_t now,
                                      JobLayout current, const LookAhead& look);

}  // namespace plumb
