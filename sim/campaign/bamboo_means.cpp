#include "sim/campaign/bamboo_means.hpp"

namespace plumb {

BambooMeans bamboo_means(const CampaignResult& result) {
  if (result.last_step_ns < 0 || result.nodes.empty()) return {};
  const double last_h = static_cast<double>(result.last_step_ns) / 3.6e12;
  const std::int64_t first_ns = result.nodes.front().at_ns;
  double first_nodes = 0;
  for (const NodeCount& count : result.nodes) {
    if (count.at_ns == first_ns) first_nodes = count.nodes;
  }
  const double node_hours = result.node_hours + static_cast<double>(first_ns) / 3.6e12 * first_nodes -
                            (result.hours() - last_h) * result.nodes.back().nodes;
  const double price = result.node_hours > 0 ? result.cost / result.node_hours : 0;
  const double trained_s = static_cast<double>(result.last_step_ns - result.first_step_ns) / 1e9;
  BambooMeans means{.nodes = node_hours / last_h, .samples_per_s = result.samples_to_last_step / trained_s};
  means.cost_per_hour = means.nodes * price;
  if (price > 0) means.samples_per_s_per_cost = result.samples_per_node / trained_s / price;
  return means;
}

}  // namespace plumb
