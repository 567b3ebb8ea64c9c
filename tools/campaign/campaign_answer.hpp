#pragma once

#include <string>
#include <vector>

#include "sim/campaign/campaign.hpp"

namespace plumb {

/// What one rule made of the nodes: a run for every seed, the first one with its phases.
struct CampaignOutcome {
  std::string rule;
  std::vector<CampaignResult> runs;  ///< at least one

  /// Mean over the runs of what `figure` takes of each.
  template <class Figure>
  double mean(Figure figure) const {
    double sum = 0;
    for (const CampaignResult& run : runs) sum += static_cast<double>(figure(run));
    return sum / static_cast<double>(runs.size());
  }
};

/// The answer to `plumbline campaign`.
struct CampaignAnswer {
  std::string job;    ///< "1f1b of gpt2-medium on v100-32x1, 64 microbatches a step"
  std::string nodes;  ///< "trace bamboo-p3"
  double hours = 0;
  double price_per_node_hour = 0;
  double mean_nodes = 0;
  std::vector<CampaignOutcome> outcomes;  ///< most samples per cost first (without a price: most samples)
};

/// Several answers that differ in the value of one option.
struct CampaignSweep {
  std::string option;      ///< "mtbf", or an option of rules: "checkpoint.every"
  std::string meaning;     ///< "the mean hours until a node fails", "option 'every' of checkpoint and varuna"
  std::string values_are;  ///< "seconds of work between checkpoints", where `meaning` does not say it
  std::string unit;        ///< " h"; empty: none
  std::vector<double> values;
  std::vector<CampaignAnswer> answers;  ///< by value
};

/// Standard error of the mean of `figure` over runs; 0 for one run.
double standard_error(const CampaignOutcome& outcome, double (*figure)(const CampaignResult&));

/// Every rule with its source and its options.
std::string campaign_rules_text();
std::string campaign_rules_json();

/// Two tables: what the job got, and where its time went.
std::string campaign_text(const CampaignAnswer& answer);

/// One table: what every rule gets at each value, and which gets the most.
std::string campaign_text(const CampaignSweep& sweep);

/// `{"format": "plumbline-campaign", "version": 1, ...}`.
std::string campaign_json(const CampaignAnswer& answer);
/// `{"format": "plumbline-campaigns", "version": 1, "option": "mtbf", "points": [{"value": 2, "campaign": ...}]}`,
/// where a campaign is the document of its answer.
std::string campaign_json(const CampaignSweep& sweep);

/// A page with nodes, layouts and uses of time of every rule over the hours, and the tables.
std::string campaign_page(const CampaignAnswer& answer);
/// A page with a line for every rule over the values, and the table.
std::string campaign_page(const CampaignSweep& sweep);

/// The picture of the first rule on that page.
std::string campaign_svg(const CampaignAnswer& answer);
std::string campaign_svg(const CampaignSweep& sweep);

/// A table of an answer, for terminals and pages.
struct CampaignTable {
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;
};

/// Samples, goodput, losses, cost of every rule.
CampaignTable campaign_figures(const CampaignAnswer& answer);

/// The share of the time that went into each use, by rule.
CampaignTable campaign_times(const CampaignAnswer& answer);

std::string table_text(const CampaignTable& table);

/// A line for every rule whose samples are not those of the others: why.
std::string changed_jobs_text(const CampaignAnswer& answer);

/// "trace bamboo-p3: 24 nodes on average, 12 h".
std::string campaign_nodes(const CampaignAnswer& answer);

}  // namespace plumb
