#include "sim/campaign/campaign_rule.hpp"

#include <algorithm>
#include <cmath>

namespace plumb {

std::int64_t option_ns(const OptionReader& options, std::string_view name) {
  return std::llround(options.number(name) * 1e9);
}

std::int32_t option_count(const OptionReader& options, std::string_view name, std::int32_t otherwise) {
  return static_cast<std::int32_t>(options.number(name, otherwise));
}

std::int32_t usual_nodes(const CampaignProblem& problem) {
  double node_ns = 0;
  std::int64_t nodes = 0;
  std::int64_t last = 0;
  for (const NodeEvent& event : problem.trace.events) {
    const std::int64_t at = std::min(event.at_ns, problem.until_ns);
    node_ns += static_cast<double>(nodes) * static_cast<double>(at - last);
    last = at;
    if (event.kind == NodeEventKind::kAdd) ++nodes;
    if (event.kind == NodeEventKind::kRemove) --nodes;
  }
  node_ns += static_cast<double>(nodes) * static_cast<double>(problem.until_ns - last);
  return std::max(
      1, static_cast<std::int32_t>(node_ns / static_cast<double>(std::max<std::int64_t>(1, problem.until_ns))));
}

std::int32_t usual_stages(const CampaignProblem& problem, LayoutBook& book) {
  const std::optional<JobLayout> layout = book.made_for(usual_nodes(problem));
  return layout ? layout->stages : book.source().lengths().front();
}

}  // namespace plumb
