#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "sim/campaign/campaign_rule.hpp"
#include "sim/campaign/campaign_run.hpp"
#include "sim/campaign/node_seats.hpp"

namespace plumb {

/// What checkpoint and restart is told.
struct RestartSettings {
  std::int64_t every_ns = 0;    ///< time of work between two checkpoints
  std::int64_t save_ns = 0;     ///< the job stands still for
  std::int64_t restart_ns = 0;  ///< from a loss, or from a decision, to the next step
  bool morph = false;           ///< takes the best layout for the nodes that are there; else always the same one
  std::int32_t peers = 0;       ///< nodes that keep the state of each other in memory after every step; below 2: none
  std::int64_t copy_ns = 0;     ///< time of sending a node's state to its peers, if nothing else is sent
  double idle = 0;              ///< share of a step in which a node's link is free for that
  std::int32_t nodes = 1;       ///< nodes that the layout is made for, where it is always the same one
  /// While a node gets slower or faster, layers move between the nodes of its pipeline for so long, without a stop, and
  /// then all of them take the same time (vPipe). None: they stay, and all wait for the slowest node.
  std::optional<std::int64_t> rebalance_ns{};
};

// Options that rules made of `checkpoint` share.
inline constexpr NamedOption kSavesOption{"every",
                                          kRulePeriod,
                                          {600, "600, or the best for the failures where these are random"},
                                          "seconds of work between checkpoints"};
inline constexpr NamedOption kSaveOption{"save", kRulePause, 30, "seconds that a checkpoint stops the job"};
inline constexpr NamedOption kLayoutNodesOption{"nodes", rule_count("N", 1), "the mean of the trace",
                                                "nodes that the layout is made for"};

/// Reads `every`, `save` and `restart`.
RestartSettings restart_settings(const OptionReader& options);

/// Checkpoint and restart: a node that goes stops the job, which starts again from its last checkpoint with the nodes
/// that are ready, as soon as they suffice. Where layouts adapt, nodes that got ready are taken in after a checkpoint,
/// where that is faster. Where peers keep the state, a loss costs the step under way only, unless all nodes of a group
/// of neighbours go before the job runs again; what of their copies does not fit into a step makes it longer.
class RestartRule : public CampaignRule {
 public:
  RestartRule(const RestartSettings& settings, LayoutBook& book) : settings_(settings), book_(book) {}

  void slowed(const CampaignNode& node, CampaignRun& run) override;
  void removed(const CampaignNode& node, CampaignRun& run) override;
  void became_ready(const CampaignNode& node, CampaignRun& run) override;
  void pause_over(CampaignRun& run) override;
  void step_done(CampaignRun& run) override;

 protected:
  /// Returns the layout to take now; none: the job waits.
  virtual std::optional<JobLayout> wanted(const CampaignRun& run);
  /// Returns a step of the layout that the job has.
  virtual StepOfLayout step(const CampaignRun& run) { return *book_.step(run.layout()); }
  void start_restart(CampaignRun& run);
  LayoutBook& book() { return book_; }

 private:
  enum class State : std::uint8_t { kWaiting, kRestarting, kTraining, kSaving };

  /// Returns whether all nodes of the group of `node` have gone since the job last ran.
  bool group_is_lost(const CampaignNode& node);
  void finish_restart(CampaignRun& run);
  void begin_step(CampaignRun& run);
  bool wants_other_layout(const CampaignRun& run);

  RestartSettings settings_;
  LayoutBook& book_;
  State state_ = State::kWaiting;
  std::optional<JobLayout> fixed_;
  NodeSeats seats_;
  std::map<std::int32_t, std::int32_t> group_of_;  ///< by used node
  std::map<std::int32_t, std::int32_t> left_;      ///< nodes that a group still has
};

}  // namespace plumb
