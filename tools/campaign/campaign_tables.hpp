#pragma once

#include <string>
#include <vector>

#include "tools/campaign/campaign_answer.hpp"

namespace plumb {

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
