#include <string>

#include <nlohmann/json.hpp>

#include "sim/campaign/bamboo_means.hpp"
#include "sim/campaign/campaign.hpp"
#include "tools/campaign/campaign_answer.hpp"
#include "tools/terminal/options_json.hpp"

namespace plumb {
namespace {

nlohmann::ordered_json run_json(const CampaignResult& run) {
  nlohmann::ordered_json times;
  for (std::size_t use = 0; use < kTimeUseNames.size(); ++use)
    times[std::string(kTimeUseNames[use])] = run.time_ns[use];
  nlohmann::ordered_json json{{"steps", run.steps},
                              {"samples", run.samples},
                              {"samples_per_s", run.samples_per_s()},
                              {"goodput", run.goodput()},
                              {"undisturbed_samples", run.undisturbed},
                              {"time_ns", times},
                              {"losses", run.removals},
                              {"fatal", run.fatal},
                              {"recoveries", run.recoveries},
                              {"node_hours", run.node_hours},
                              {"most_nodes", run.most_nodes},
                              {"cost", run.cost},
                              {"samples_per_cost", run.samples_per_cost()},
                              {"first_step_ns", run.first_step_ns},
                              {"last_step_ns", run.last_step_ns}};
  if (run.frozen_layers > 0) json["frozen_layers"] = run.frozen_layers;
  if (run.phases.empty()) return json;
  nlohmann::ordered_json phases = nlohmann::ordered_json::array();
  for (const CampaignPhase& phase : run.phases) {
    phases.push_back({{"start_ns", phase.start_ns},
                      {"end_ns", phase.end_ns},
                      {"use", kTimeUseNames[static_cast<std::size_t>(phase.use)]},
                      {"pipelines", phase.layout.pipelines},
                      {"stages", phase.layout.stages}});
  }
  json["phases"] = std::move(phases);
  return json;
}

nlohmann::ordered_json means_json(const BambooMeans& means) {
  return {{"nodes", means.nodes},
          {"cost_per_hour", means.cost_per_hour},
          {"samples_per_s", means.samples_per_s},
          {"samples_per_s_per_cost", means.samples_per_s_per_cost}};
}

nlohmann::ordered_json answer_json(const CampaignAnswer& answer) {
  nlohmann::ordered_json rules = nlohmann::ordered_json::array();
  for (const CampaignOutcome& outcome : answer.outcomes) {
    nlohmann::ordered_json runs = nlohmann::ordered_json::array();
    for (const CampaignResult& run : outcome.runs) {
      runs.push_back(run_json(run));
      if (outcome.rule == "bamboo") runs.back()["as_released"] = means_json(bamboo_means(run));
    }
    rules.push_back({{"rule", outcome.rule}, {"runs", std::move(runs)}});
  }
  return {{"format", "plumbline-campaign"},
          {"version", 1},
          {"job", answer.job},
          {"nodes", answer.nodes},
          {"hours", answer.hours},
          {"mean_nodes", answer.mean_nodes},
          {"price_per_node_hour", answer.price_per_node_hour},
          {"rules", std::move(rules)}};
}

}  // namespace

std::string campaign_json(const CampaignAnswer& answer) { return answer_json(answer).dump(1) + "\n"; }

std::string campaign_json(const CampaignSweep& sweep) {
  nlohmann::ordered_json points = nlohmann::ordered_json::array();
  for (std::size_t at = 0; at < sweep.values.size(); ++at) {
    points.push_back({{"value", sweep.values[at]}, {"campaign", answer_json(sweep.answers[at])}});
  }
  const nlohmann::ordered_json document{
      {"format", "plumbline-campaigns"}, {"version", 1}, {"option", sweep.option}, {"points", std::move(points)}};
  return document.dump(1) + "\n";
}

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
