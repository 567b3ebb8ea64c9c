#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "sim/campaign/campaign_rule.hpp"

namespace plumb {

/// Who holds which stage of which pipeline of a layout, and which of these seats nodes that went have left empty.
class NodeSeats {
 public:
  struct Seat {
    std::int32_t pipeline = 0;
    std::int32_t stage = 0;
  };

  /// The used nodes, in the order of their coming, pipeline by pipeline.
  void seat(JobLayout layout, std::span<const CampaignNode> nodes);
  /// Nobody sits anywhere.
  void clear();

  bool has(std::int32_t node) const { return seats_.contains(node); }
  /// False: it sat nowhere.
  bool leave(std::int32_t node);
  /// Takes an empty seat of the stage that has the most of them. False: there is none.
  bool take_empty(std::int32_t node);

  std::int32_t empty() const;
  std::int32_t empty_of(std::int32_t stage) const;
  /// Returns the empty seats of the stage with the most of them.
  std::int32_t most_empty() const;
  /// Some stage has no node any more.
  bool lost_stage() const;
  /// Returns, by pipeline, how much longer its passes take when its nodes share them evenly in spite of slow ones; the
  /// largest.
  double balanced_factor(std::span<const CampaignNode> nodes) const;

 private:
  std::map<std::int32_t, Seat> seats_;  ///< by node
  JobLayout layout_;
  std::vector<std::vector<std::int32_t>> empty_;  ///< by stage: pipelines
};

}  // namespace plumb
