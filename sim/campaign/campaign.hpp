#pragma once

#include <span>
#include <string_view>

#include "sim/campaign/campaign_rule.hpp"

namespace plumb {

/// Returns all rules, in the order of their years.
std::span<const CampaignRuleSpec> campaign_rules();

/// Throws `Error` with the nearest name when there is no such rule.
const CampaignRuleSpec& campaign_rule_named(std::string_view name);

/// Plays the campaign by the rule `name`. Throws `Error` for an unknown rule or option, and for a trace that is longer
/// than can be counted. Deterministic.
CampaignResult run_campaign(const CampaignProblem& problem, std::string_view name, LayoutBook& book);

}  // namespace plumb
