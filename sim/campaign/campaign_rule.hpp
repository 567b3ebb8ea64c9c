#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

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

/// In the order in which events of one moment happen.
enum class CampaignEventKind : std::uint8_t { kAdded, kSlowed, kRemoved, kReady, kFirstTimer, kSecondTimer, kStepDone };

struct CampaignEvent {
  CampaignEventKind kind = CampaignEventKind::kAdded;
  CampaignNode node{};       ///< that came, went or got ready; as it was before it went
  std::int64_t number = 0;   ///< of a timer
  std::int64_t step_ns = 0;  ///< of the step that is done, undisturbed
};

/// How a system answers to events. One object plays one campaign.
class CampaignRule {
 public:
  CampaignRule() = default;
  CampaignRule(const CampaignRule&) = delete;
  CampaignRule& operator=(const CampaignRule&) = delete;
  virtual ~CampaignRule() = default;

  /// Called once before all events.
  virtual void start(CampaignRun&) {}
  virtual void handle(const CampaignEvent& event, CampaignRun& run) = 0;
};
using CampaignRulePtr = std::unique_ptr<CampaignRule>;

/// The value of an option of a rule, a number of at least `least`; `otherwise` where it is not given. Throws `Error`.
double rule_number(const CampaignProblem& problem, std::string_view option, double otherwise, double least = 0);
/// Seconds as nanoseconds.
std::int64_t rule_seconds(const CampaignProblem& problem, std::string_view option, double otherwise);

/// The mean number of nodes of the trace, rounded down, at least 1: what a layout that never changes is made for.
std::int32_t usual_nodes(const CampaignProblem& problem);

CampaignRulePtr checkpoint_rule(const CampaignProblem& problem, LayoutBook& book);
CampaignRulePtr varuna_rule(const CampaignProblem& problem, LayoutBook& book);
CampaignRulePtr bamboo_rule(const CampaignProblem& problem, LayoutBook& book);
CampaignRulePtr oobleck_rule(const CampaignProblem& problem, LayoutBook& book);
CampaignRulePtr parcae_rule(const CampaignProblem& problem, LayoutBook& book);
CampaignRulePtr swarm_rule(const CampaignProblem& problem, LayoutBook& book);

}  // namespace plumb
