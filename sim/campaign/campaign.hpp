#pragma once

#include <string_view>
#include <vector>

#include "sim/campaign/campaign_result.hpp"

namespace plumb {

/// How a system answers to nodes that come and go, by name.
struct CampaignRuleSpec {
  std::string_view name;
  std::string_view summary;
  std::string_view source;
  std::string_view options;           ///< "key=VALUE meaning (default)", one a line
  std::string_view changes_job = "";  ///< why its samples are not those of the others; empty: they are
};

/// All rules, in the order of their years.
std::vector<CampaignRuleSpec> campaign_rules();

/// Plays the campaign by the rule `name`. Throws `Error` for an unknown rule or option, and for a trace that is longer
/// than can be counted. Deterministic.
CampaignResult run_campaign(const CampaignProblem& problem, std::string_view name, LayoutBook& book);

}  // namespace plumb
