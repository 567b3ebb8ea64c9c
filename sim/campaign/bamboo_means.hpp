#pragma once

#include "sim/campaign/campaign_result.hpp"

namespace plumb {

/// The means of a campaign that Bamboo's released simulation prints (github.com/uclasystem/bamboo 8080929,
/// simulator.py). They are those of the time until its last step, not of all of it.
struct BambooMeans {
  /// From 0 to the end of the last step, as if the first nodes had been there from 0, and what changed behind the last
  /// step was the other way round: its last interval runs backwards.
  double nodes = 0;
  double cost_per_hour = 0;
  /// Samples per second of finished steps, from the beginning of the first one.
  double samples_per_s = 0;
  /// Samples per second over cost per hour of every finished step, by its length. A step begins where the one before
  /// ended, so that pauses count as well.
  double samples_per_s_per_cost = 0;
};

/// Returns all 0 without a finished step; what has to do with cost is 0 without a price.
BambooMeans bamboo_means(const CampaignResult& result);

}  // namespace plumb
