#include "sim/campaign/campaign.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "models/ground/error.hpp"
#include "sim/campaign/campaign_run.hpp"

namespace plumb {

// Each is described and made in <name>_rule.cpp; checkpoint and varuna in restart_rule.cpp.
CampaignRuleSpec checkpoint_rule();
CampaignRuleSpec varuna_rule();
CampaignRuleSpec bamboo_rule();
CampaignRuleSpec oobleck_rule();
CampaignRuleSpec parcae_rule();
CampaignRuleSpec swarm_rule();
CampaignRuleSpec ravnest_rule();
CampaignRuleSpec recycle_rule();
CampaignRuleSpec pipetransformer_rule();
CampaignRuleSpec petals_rule();

std::span<const CampaignRuleSpec> campaign_rules() {
  static const std::array rules{checkpoint_rule(),      varuna_rule(), bamboo_rule(),  oobleck_rule(),
                                parcae_rule(),          swarm_rule(),  ravnest_rule(), recycle_rule(),
                                pipetransformer_rule(), petals_rule()};
  return rules;
}

const CampaignRuleSpec& campaign_rule_named(std::string_view name) {
  std::vector<std::string_view> names;
  for (const CampaignRuleSpec& rule : campaign_rules()) {
    if (rule.name == name) return rule;
    names.push_back(rule.name);
  }
  throw_unknown("rule", name, names);
}

CampaignResult run_campaign(const CampaignProblem& problem, std::string_view name, LayoutBook& book) {
  const CampaignRuleSpec& spec = campaign_rule_named(name);
  check_options(spec.options, problem.options, "option of the rule " + std::string(name));
  const CampaignRulePtr rule = spec.make(problem, OptionReader(spec.options, problem.options), book);
  return CampaignRun(problem, *rule, book).play();
}

}  // namespace plumb
