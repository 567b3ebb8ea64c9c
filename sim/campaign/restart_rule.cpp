#include "sim/campaign/restart_rule.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace plumb {

namespace {

constexpr double kUsualLink = 12.5;  ///< GB/s

}  // namespace

RestartSettings restart_settings(const CampaignProblem& problem, bool morph) {
  RestartSettings settings{.every_ns = rule_seconds(problem, "every", 600),
                           .save_ns = rule_seconds(problem, "save", 30),
                           .restart_ns = rule_seconds(problem, "restart", 120),
                           .morph = morph,
                           .peers = static_cast<std::int32_t>(rule_number(problem, "peers", 0)),
                           .nodes = static_cast<std::int32_t>(rule_number(problem, "nodes", usual_nodes(problem), 1))};
  if (problem.options.contains("rebalance")) settings.rebalance_ns = rule_seconds(problem, "rebalance", 0);
  const double link = rule_number(problem, "link", kUsualLink);
  const auto over_link = [&](std::string_view option) {
    return std::llround(rule_number(problem, option, 0) / std::max(link, 1e-9) * 1e9);
  };
  if (problem.options.contains("layer")) settings.rebalance_ns = over_link("layer");
  settings.copy_ns = std::max(0, settings.peers - 1) * over_link("state");
  settings.idle = rule_number(problem, "idle", 0);
  return settings;
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

CampaignRulePtr checkpoint_rule(const CampaignProblem& problem, LayoutBook& book) {
  return std::make_unique<RestartRule>(restart_settings(problem, false), book);
}

CampaignRulePtr varuna_rule(const CampaignProblem& problem, LayoutBook& book) {
  return std::make_unique<RestartRule>(restart_settings(problem, true), book);
}

}  // namespace plumb
