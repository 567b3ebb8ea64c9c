#include "tools/plans/plan_text.hpp"

#include <nlohmann/json.hpp>

#include "tools/terminal/answer_lines.hpp"
#include "tools/terminal/options_json.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"

namespace plumb {
namespace {

using Json = nlohmann::ordered_json;

const LayerNode& layer_of(const PlanProblem& problem, std::int32_t k) {
  return problem.network.layers.nodes[static_cast<std::size_t>(k)];
}

/// "node2 .. node17", or fewer.
std::string layers_text(const PlanProblem& problem, const PlanStage& stage) {
  if (stage.layers.empty()) return "-";
  const std::string first = layer_of(problem, stage.layers.front()).id;
  return stage.layers.size() == 1 ? first : first + " .. " + layer_of(problem, stage.layers.back()).id;
}

std::string devices_text(const PlanStage& stage) {
  if (stage.on_cpu) return "cpu";
  std::string text = std::to_string(stage.num_devices());
  if (stage.tensor_degree > 1) {
    text = std::to_string(stage.replicas) + " x " + std::to_string(stage.tensor_degree) + " (tensor)";
  }
  if (stage.devices.empty()) return text;
  text += ":";
  for (const std::int32_t device : stage.devices) text += " " + std::to_string(device);
  return text;
}

}  // namespace

std::string plan_text(const Planner& planner, const PlanProblem& problem, const Plan& plan) {
  TextTable head({{std::string(planner.name)}, {problem.network.layers.name}});
  head.add_row({"minimises", std::string(planner.minimises)});
  head.add_row({"planned cost", number_text(plan.claimed_ns / 1e6, 9) + " ms"});
  if (plan.lower_bound_ns > 0) {
    const bool proved = plan.lower_bound_ns >= plan.claimed_ns * (1 - 1e-12);
    head.add_row({"lower bound", proved ? "equal: no plan costs less by this formula"
                                        : number_text(plan.lower_bound_ns / 1e6, 9) + " ms, gap " +
                                              percent_text(1 - plan.lower_bound_ns / plan.claimed_ns)});
  }
  head.add_row({"devices", std::to_string(plan.num_devices()) + " of " + std::to_string(problem.num_devices())});
  if (plan.pipelines > 1) head.add_row({"pipelines", std::to_string(plan.pipelines)});
  if (plan.microbatch_samples > 0) head.add_row({"microbatch", std::to_string(plan.microbatch_samples) + " samples"});
  TextTable table(
      {{"stage", '>'}, {"layers", '>'}, {"first .. last"}, {"devices"}, {"weights", '>'}, {"load", '>'}, {""}});
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const PlanStage& stage = plan.stages[s];
    std::int64_t weights = 0;
    for (const std::int32_t k : stage.layers) weights += layer_of(problem, k).parameter_bytes;
    table.add_row({std::to_string(s), std::to_string(stage.layers.size()), layers_text(problem, stage),
                   devices_text(stage), bytes_text(weights), ns_text(stage.load_ns),
                   stage.recompute ? "recomputed" : ""});
  }
  std::string text = head.to_string() + "\n" + table.to_string();
  for (const std::string& remark : plan.remarks) text += "\n" + remark + "\n";
  return text;
}

std::string plan_json(const Planner& planner, const PlanProblem& problem, const Plan& plan) {
  Json json{{"format", "plumbline-plan"},       {"version", 1},
            {"method", planner.name},           {"network", problem.network.layers.name},
            {"devices", problem.num_devices()}, {"minimises", planner.minimises},
            {"claimed_ns", plan.claimed_ns}};
  if (plan.lower_bound_ns > 0) json["lower_bound_ns"] = plan.lower_bound_ns;
  json["states"] = plan.states;
  json["pipelines"] = plan.pipelines;
  json["microbatches"] = plan.microbatches;
  if (plan.microbatch_samples > 0) json["microbatch_samples"] = plan.microbatch_samples;
  json["stages"] = Json::array();
  for (const PlanStage& stage : plan.stages) {
    Json row{{"layers", Json::array()}, {"replicas", stage.replicas}, {"tensor_degree", stage.tensor_degree}};
    for (const std::int32_t k : stage.layers) row["layers"].push_back(layer_of(problem, k).id);
    if (stage.recompute) row["recompute"] = true;
    if (stage.on_cpu) row["on_cpu"] = true;
    if (!stage.devices.empty()) row["on"] = stage.devices;
    row["load_ns"] = stage.load_ns;
    json["stages"].push_back(std::move(row));
  }
  if (!plan.shares.empty()) json["shares"] = plan.shares;
  if (!plan.remarks.empty()) json["remarks"] = plan.remarks;
  return json.dump(2) + "\n";
}

namespace {

/// "memory compression"; empty: none.
std::string option_words(const Planner& planner) {
  std::string words;
  for (const NamedOption& option : planner.options) words += (words.empty() ? "" : " ") + std::string(option.name);
  return words;
}

}  // namespace

std::string planners_text() {
  TextTable table({{"method"},
                   {"year", '>'},
                   {"minimises"},
                   {.title = "options", .spare = true},
                   {.title = "paper", .spare = true}});
  for (const Planner& planner : planners()) {
    table.add_row({std::string(planner.name), std::to_string(planner.year), std::string(planner.minimises),
                   option_words(planner), std::string(planner.paper)});
  }
  std::string text = table.to_string();
  for (const Planner& planner : planners()) {
    if (planner.uncertain.empty() && planner.options.empty()) continue;
    text += "\n" +
            sentence_text(std::string(planner.name) + ":" + (planner.uncertain.empty() ? "" : " ") +
                          std::string(planner.uncertain)) +
            lines_within_terminal(options_text(planner.options));
  }
  return text;
}

std::string planners_json() {
  Json rows = Json::array();
  for (const Planner& planner : planners()) {
    rows.push_back({{"name", planner.name},
                    {"paper", planner.paper},
                    {"year", planner.year},
                    {"minimises", planner.minimises},
                    {"options", option_words(planner)},
                    {"option_list", nlohmann::ordered_json::parse(options_json(planner.options))},
                    {"uncertain", planner.uncertain}});
  }
  return rows.dump(2) + "\n";
}

}  // namespace plumb
