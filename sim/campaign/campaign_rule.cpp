#include "sim/campaign/campaign_rule.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "models/ground/error.hpp"

namespace plumb {

double rule_number(const CampaignProblem& problem, std::string_view option, double otherwise, double least) {
  const auto given = problem.options.find(std::string(option));
  if (given == problem.options.end()) return otherwise;
  double value = 0;
  const char* end = given->second.data() + given->second.size();
  const auto [stop, failed] = std::from_chars(given->second.data(), end, value);
  if (failed != std::errc{} || stop != end || !(value >= least && value <= 1e9)) {
    throw Error("option " + std::string(option) + ": expected a number from " +
                std::to_string(static_cast<std::int64_t>(least)) + " to 1e9, found '" + given->second + "'");
  }
  return value;
}

std::int64_t rule_seconds(const CampaignProblem& problem, std::string_view option, double otherwise) {
  return std::llround(rule_number(problem, option, otherwise) * 1e9);
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
