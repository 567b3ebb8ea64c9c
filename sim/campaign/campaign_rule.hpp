#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "sim/campaign/campaign_result.hpp"

namespace plumb {

class CampaignRun;

/// A node that is there.
struct CampaignNode {
  std::int32_t id = 0;  ///< of the trace
  std::int64_t since_ns = 0;
  bool ready = false;
  bool used = false;  ///< works in the layout
  double factor = 1;  ///< how much longer its work takes
};

/// Of two timers that end in one moment, the first one comes first.
enum class CampaignTimer : std::uint8_t { kFirst, kSecond };

/// How a system answers to what happens: a function for each kind of event, of which a rule writes those that matter to
/// it. What happens in one moment comes in the order below. One object plays one campaign.
class CampaignRule {
 public:
  CampaignRule() = default;
  CampaignRule(const CampaignRule&) = delete;
  CampaignRule& operator=(const CampaignRule&) = delete;
  virtual ~CampaignRule() = default;

  /// Called once before all events.
  virtual void start(CampaignRun&) {}
  /// The work of `node` takes `node.factor` times as long from now on.
  virtual void slowed(const CampaignNode& /*node*/, CampaignRun&) {}
  /// `node` as it was before it went.
  virtual void removed(const CampaignNode& /*node*/, CampaignRun&) {}
  virtual void became_ready(const CampaignNode& /*node*/, CampaignRun&) {}
  /// `CampaignRun::pause` is over, and nothing else was begun meanwhile.
  virtual void pause_over(CampaignRun&) {}
  /// Of `CampaignRun::set_timer`.
  virtual void timer(CampaignTimer /*which*/, std::int64_t /*number*/, CampaignRun&) {}
  virtual void step_done(CampaignRun&) {}
};
using CampaignRulePtr = std::unique_ptr<CampaignRule>;

/// The value of an option of a rule, a number of at least `least`; `otherwise` where it is not given. Throws `Error`.
double rule_number(const CampaignProblem& problem, std::string_view option, double otherwise, double least = 0);
/// Seconds as nanoseconds.
std::int64_t rule_seconds(const CampaignProblem& problem, std::string_view option, double otherwise);

/// The mean number of nodes of the trace, rounded down, at least 1: what a layout that never changes is made for.
std::int32_t usual_nodes(const CampaignProblem& problem);
/// Stages of the layout that the job is made for on these nodes (`LayoutBook::made_for`); the shortest pipelines of the
/// source where it has no layout.
std::int32_t usual_stages(const CampaignProblem& problem, LayoutBook& book);

CampaignRulePtr checkpoint_rule(const CampaignProblem& problem, LayoutBook& book);
CampaignRulePtr varuna_rule(const CampaignProblem& problem, LayoutBook& book);
CampaignRulePtr bamboo_rule(const CampaignProblem& problem, LayoutBook& book);
CampaignRulePtr oobleck_rule(const CampaignProblem& problem, LayoutBook& book);
CampaignRulePtr parcae_rule(const CampaignProblem& problem, LayoutBook& book);
CampaignRulePtr swarm_rule(const CampaignProblem& problem, LayoutBook& book);
CampaignRulePtr ravnest_rule(const CampaignProblem& problem, LayoutBook& book);
/// How many of `tasks` each peer of a pool gets: every task goes to the peer that is expected to be free first, of
/// equal ones the first (the released code's queue, github.com/yandex-research/swarm). `task_times`: what one task
/// takes on each.
std::vector<std::int64_t> routed_tasks(std::span<const double> task_times, std::int64_t tasks);
CampaignRulePtr recycle_rule(const CampaignProblem& problem, LayoutBook& book);
CampaignRulePtr pipetransformer_rule(const CampaignProblem& problem, LayoutBook& book);
CampaignRulePtr petals_rule(const CampaignProblem& problem, LayoutBook& book);

}  // namespace plumb
