#include <algorithm>

#include "tools/campaign/campaign_answer.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"

namespace plumb {
namespace {

/// What answers are ranked by.
double worth_of(const CampaignAnswer& answer, const std::string& rule) {
  const auto outcome = std::ranges::find(answer.outcomes, rule, &CampaignOutcome::rule);
  const bool priced = answer.price_per_node_hour > 0;
  return outcome->mean(
      [priced](const CampaignResult& run) { return priced ? run.samples_per_cost() : run.samples_per_s(); });
}

}  // namespace

std::string campaign_sweep_text(const std::vector<CampaignAnswer>& answers, const std::vector<double>& failure_hours) {
  std::vector<TextTable::Column> columns{{"rule", '<'}};
  for (const double hours : failure_hours) columns.push_back({number_text(hours) + " h", '>'});
  TextTable table(columns);
  for (const CampaignOutcome& outcome : answers.front().outcomes) {
    std::vector<std::string> row{outcome.rule};
    for (const CampaignAnswer& answer : answers) row.push_back(number_text(worth_of(answer, outcome.rule)));
    table.add_row(row);
  }
  std::vector<std::string> best{"best"};
  for (const CampaignAnswer& answer : answers) best.push_back(answer.outcomes.front().rule);
  table.add_row(best);
  const bool priced = answers.front().price_per_node_hour > 0;
  return answers.front().job + "\n" + (priced ? "samples per cost" : "samples per second") +
         ", by the mean hours until a node fails:\n\n" + table.to_string();
}

}  // namespace plumb
