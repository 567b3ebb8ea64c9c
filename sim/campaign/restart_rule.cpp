#include "sim/campaign/restart_rule.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace plumb {

RestartSettings restart_settings(const OptionReader& options) {
  return {.every_ns = option_ns(options, "every"),
          .save_ns = option_ns(options, "save"),
          .restart_ns = option_ns(options, "restart")};
}

void RestartRule::became_ready(const CampaignNode&, CampaignRun& run) {
  if (state_ == State::kWaiting) start_restart(run);
}

void RestartRule::pause_over(CampaignRun& run) {
  if (state_ == State::kRestarting) return finish_restart(run);
  run.commit();
  wants_other_layout(run) ? start_restart(run) : begin_step(run);
}

void RestartRule::slowed(const CampaignNode& node, CampaignRun& run) {
  if (settings_.rebalance_ns && node.used && run.stepping()) run.prolong_step(*settings_.rebalance_ns);
}

std::optional<JobLayout> RestartRule::wanted(const CampaignRun& run) {
  const std::int32_t ready = run.ready();
  if (settings_.morph) return book_.best(ready);
  if (!fixed_) fixed_ = book_.made_for(settings_.nodes);
  if (!fixed_ || fixed_->nodes() > ready) return {};
  return fixed_;
}

bool RestartRule::wants_other_layout(const CampaignRun& run) {
  const std::optional<JobLayout> other = wanted(run);
  if (!settings_.morph || !other || *other == run.layout()) return false;
  return book_.step(*other)->samples_per_s() > book_.step(run.layout())->samples_per_s();
}

void RestartRule::removed(const CampaignNode& node, CampaignRun& run) {
  const bool lost_group = group_is_lost(node);
  const bool in_layout = node.used && (state_ == State::kTraining || state_ == State::kSaving);
  if (!in_layout && !lost_group && !(state_ == State::kRestarting && node.ready)) return;
  if (in_layout) run.drop_step();
  if (lost_group || (in_layout && settings_.peers < 2)) {
    run.lose_uncommitted();
    run.count_fatal();
    group_of_.clear();
  }
  if (state_ != State::kWaiting) start_restart(run);
}

bool RestartRule::group_is_lost(const CampaignNode& node) {
  const auto group = group_of_.find(node.id);
  if (group == group_of_.end()) return false;
  return --left_[group->second] <= 0;
}

void RestartRule::start_restart(CampaignRun& run) {
  if (!wanted(run)) {
    state_ = State::kWaiting;
    run.take_layout({});
    run.stand(TimeUse::kWaiting);
    return;
  }
  state_ = State::kRestarting;
  run.pause(settings_.restart_ns, TimeUse::kReconfiguring);
}

void RestartRule::finish_restart(CampaignRun& run) {
  const std::optional<JobLayout> layout = wanted(run);
  if (!layout) return start_restart(run);
  run.take_layout(*layout);
  seats_.seat(*layout, run.nodes());
  run.count_recovery();
  group_of_.clear();
  left_.clear();
  std::int32_t place = 0;
  for (const CampaignNode& node : run.nodes()) {
    if (!node.used || settings_.peers < 2) continue;
    const std::int32_t group = place++ / settings_.peers;
    group_of_[node.id] = group;
    ++left_[group];
  }
  state_ = State::kTraining;
  begin_step(run);
}

void RestartRule::step_done(CampaignRun& run) {
  if (run.uncommitted_work() < settings_.every_ns) return begin_step(run);
  state_ = State::kSaving;
  run.pause(settings_.save_ns, TimeUse::kCheckpointing);
}

void RestartRule::begin_step(CampaignRun& run) {
  state_ = State::kTraining;
  const StepOfLayout next = step(run);
  const double factor = settings_.rebalance_ns ? seats_.balanced_factor(run.nodes()) : run.slowest();
  const double takes = static_cast<double>(next.ns) * factor;
  const double copies = std::max(0.0, static_cast<double>(settings_.copy_ns) - settings_.idle * takes);
  run.begin_step(std::llround(takes + copies), next.ns, next.samples);
}

namespace {

constexpr NamedOption kRestartOption{"restart", kRulePause, 120, "seconds from a loss to the next step"};
constexpr NamedOption kPeersOption{"peers", rule_count("K", 0), 0,
                                   "neighbours that keep each other's state in memory after every step"};
constexpr NamedOption kStateOption{"state", rule_number("X"), 0, "GB of a node that its peers keep",
                                   "what of sending them does not fit into a step makes it longer"};
constexpr NamedOption kLinkOption{"link", rule_number("X"), 12.5, "GB/s of a node"};
constexpr NamedOption kIdleOption{"idle", rule_number("X"), 0, "share of a step in which its link is free"};
constexpr NamedOption kMoveSecondsOption{"rebalance", kRulePause, "none: all wait for it",
                                         "seconds in which layers move off a slow node"};
constexpr NamedOption kMoveBytesOption{"layer", rule_number("X"), "none",
                                       "GB of weights that move off a slow node, in place of rebalance"};

constexpr std::array kVarunaOptions{kSavesOption, kSaveOption, kRestartOption,     kPeersOption,    kStateOption,
                                    kLinkOption,  kIdleOption, kMoveSecondsOption, kMoveBytesOption};
constexpr std::array kCheckpointOptions{kSavesOption,       kSaveOption,     kRestartOption, kLayoutNodesOption,
                                        kPeersOption,       kStateOption,    kLinkOption,    kIdleOption,
                                        kMoveSecondsOption, kMoveBytesOption};

/// Returns the settings of `varuna`, and those of `checkpoint` but for its nodes.
RestartSettings settings_with_peers(const OptionReader& options) {
  RestartSettings settings = restart_settings(options);
  settings.peers = static_cast<std::int32_t>(options.count("peers"));
  if (options.has("rebalance")) settings.rebalance_ns = std::llround(options.number("rebalance", 0) * 1e9);
  const auto over_link = [&](double gigabytes) {
    return std::llround(gigabytes / std::max(options.number("link"), 1e-9) * 1e9);
  };
  if (options.has("layer")) settings.rebalance_ns = over_link(options.number("layer", 0));
  settings.copy_ns = std::max(0, settings.peers - 1) * over_link(options.number("state"));
  settings.idle = options.number("idle");
  return settings;
}

CampaignRulePtr make_checkpoint(const CampaignProblem& problem, const OptionReader& options, LayoutBook& book) {
  RestartSettings settings = settings_with_peers(options);
  settings.nodes = option_count(options, "nodes", usual_nodes(problem));
  return std::make_unique<RestartRule>(settings, book);
}

CampaignRulePtr make_varuna(const CampaignProblem&, const OptionReader& options, LayoutBook& book) {
  RestartSettings settings = settings_with_peers(options);
  settings.morph = true;
  return std::make_unique<RestartRule>(settings, book);
}

}  // namespace

CampaignRuleSpec checkpoint_rule() {
  return {.name = "checkpoint",
          .summary = "one layout; stops at a loss, and starts again from the last checkpoint",
          .source = "Young 1974, Daly 2006; GEMINI, SOSP 2023 (peers)",
          .options = kCheckpointOptions,
          .make = make_checkpoint};
}

CampaignRuleSpec varuna_rule() {
  return {.name = "varuna",
          .summary = "checkpoint, in the best layout for the nodes that are there",
          .source = "Athlur et al., Varuna, EuroSys 2022, arXiv 2111.04007",
          .options = kVarunaOptions,
          .make = make_varuna};
}

}  // namespace plumb
