#include <string>

#include <nlohmann/json.hpp>

#include "sim/campaign/campaign.hpp"
#include "tools/campaign/campaign_answer.hpp"
#include "tools/terminal/options_json.hpp"

namespace plumb {

std::string campaign_rules_text() {
  std::string text;
  for (const CampaignRuleSpec& rule : campaign_rules()) {
    text += (text.empty() ? "" : "\n") + std::string(rule.name) + ": " + std::string(rule.summary) + "\n";
    if (!rule.changes_job.empty()) text += "  changes the job: " + std::string(rule.changes_job) + "\n";
    text += "  source: " + std::string(rule.source) + "\n" + options_text(rule.options);
  }
  return text;
}

std::string campaign_rules_json() {
  auto rows = nlohmann::ordered_json::array();
  for (const CampaignRuleSpec& rule : campaign_rules()) {
    rows.push_back({{"name", rule.name},
                    {"summary", rule.summary},
                    {"source", rule.source},
                    {"options", nlohmann::ordered_json::parse(options_json(rule.options))},
                    {"changes_job", rule.changes_job}});
  }
  return rows.dump(2) + "\n";
}

}  // namespace plumb
