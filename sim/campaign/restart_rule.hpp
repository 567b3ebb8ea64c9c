#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "sim/campaign/campaign_rule.hpp"
#include "sim/campaign/campaign_run.hpp"

namespace plumb {

/// What checkpoint and restart is told.
struct RestartSettings {
  std::int64_t every_ns = 0;    ///< of work between two checkpoints
  std::int64_t save_ns = 0;     ///< the job stands still for
  std::int64_t restart_ns = 0;  ///< from a loss, or from a decision, to the next step
  bool morph = false;           ///< takes the best layout for the nodes that are there; else always the same one
  std::int32_t peers = 0;       ///< nodes that keep the state of each other in memory after every step; below 2: none
  std::int32_t nodes = 1;       ///< that the layout is made for, where it is always the same one
};

/// Checkpoint and restart: a node that goes stops the job, which starts again from its last checkpoint with the nodes
/// that are ready, as soon as they suffice. Where layouts adapt, nodes that got ready are taken in after a checkpoint,
/// where that is faster. Where peers keep the state, a loss costs the step under way only, unless all nodes of a group
/// of neighbours go before the job runs again.
class RestartRule final : public CampaignRule {
 public:
  RestartRule(const RestartSettings& settings, LayoutBook& book) : settings_(settings), book_(book) {}

  void handle(const CampaignEvent& event, CampaignRun& run) override;

 private:
  enum class State : std::uint8_t { kWaiting, kRestarting, kTraining, kSaving };

  std::optional<JobLayout> wanted(const CampaignRun& run);
  void take_removal(const CampaignNode& node, CampaignRun& run);
  /// Whether all nodes of the group of `node` have gone since the job last ran.
  bool group_is_lost(const CampaignNode& node);
  void start_restart(CampaignRun& run);
  void finish_restart(CampaignRun& run);
  void take_step_done(std::int64_t work_ns, CampaignRun& run);
  void begin_step(CampaignRun& run);
  bool wants_other_layout(const CampaignRun& run);

  RestartSettings settings_;
  LayoutBook& book_;
  State state_ = State::kWaiting;
  std::optional<JobLayout> fixed_;
  std::int64_t work_ns_ = 0;                       ///< since the last checkpoint
  std::int64_t turn_ = 0;                          ///< timers of earlier turns are ignored
  std::map<std::int32_t, std::int32_t> group_of_;  ///< by used node
  std::map<std::int32_t, std::int32_t> left_;      ///< nodes that a group still has
};

}  // namespace plumb
