#include <nlohmann/json.hpp>

#include "models/kernels/rates_text.hpp"
#include "sim/plan_search/plan_front.hpp"
#include "tools/plans/plan_figures.hpp"
#include "tools/plans/plan_search_text.hpp"

namespace plumb {
namespace {

using Json = nlohmann::ordered_json;

/// Figures that people compare, and whether the plan fits as `simulate` says it.
void add_figures(const PlanQuestion& question, const ScoredPlan& score, Json& json) {
  json["tokens_per_s"] = static_cast<double>(question.tokens()) / (static_cast<double>(score.step_ns) * 1e-9);
  const PlanSpeed speed = plan_speed(question, score);
  if (speed.tflops_per_device > 0) {
    json["tflops_per_device"] = speed.tflops_per_device;
    json["model_flops_utilization"] = speed.utilization;
  }
  const MemoryNeed need = plan_need(question, score);
  json["memory"] = {{"needed_bytes", need.needed_bytes},
                    {"least_bytes", need.least_bytes},
                    {"most_bytes", need.most_bytes},
                    {"limit_bytes", need.limit_bytes},
                    {"verdict", verdict_word(need.verdict())}};
  json["runs_in"] = Json::array();
  for (const std::string_view title : plan_systems(score.plan, question.network)) json["runs_in"].push_back(title);
}

Json plan_to_json(const ScoredPlan& score, const PlanQuestion& question) {
  const PipelinePlan& plan = score.plan;
  const Parallelism& job = plan.parallelism;
  Json json{{"schedule", plan.schedule},
            {"places", plan.places},
            {"chunks", plan.stages_per_place()},
            {"microbatches", plan.microbatches},
            {"microbatch_size", job.microbatch_size},
            {"tensor", job.tensor},
            {"sequence_parallel", job.sequence_parallel},
            {"context", job.context},
            {"expert", job.expert},
            {"expert_tensor", job.expert_parts()},
            {"data", job.data},
            {"zero", static_cast<int>(job.zero)},
            {"recompute", recompute_word(job.recompute)},
            {"devices", plan.num_devices()},
            {"order", plan.order},
            {"partition", to_string(plan.partition)},
            {"step_time_ns", score.step_ns},
            {"bubble_fraction", score.bubble_fraction},
            {"peak_memory_bytes", score.peak_bytes},
            {"device_seconds", score.device_seconds()}};
  if (score.step_ns > 0) add_figures(question, score, json);
  if (score.price_per_hour > 0) {
    json["price_per_hour"] = score.price_per_hour;
    json[question.network.sequence > 1 ? "price_per_token" : "price_per_sample"] = plan_cost(score, question);
  }
  Json staleness = Json::array();
  for (const StageDelays& stage : plan_delays(plan, question.job.price)) {
    staleness.push_back({{"stage", index(stage.stage)},
                         {"tau_fwd", mean_delay(stage.forward)},
                         {"tau_bkwd", mean_delay(stage.backward)},
                         {"versions", stage.versions}});
  }
  if (!staleness.empty()) json["staleness"] = std::move(staleness);
  if (!plan.replicas.empty()) json["replicas"] = plan.replicas;
  if (!plan.shares.empty()) json["shares"] = plan.shares;
  for (const std::int32_t place : plan.order) {
    if (job.has_unlike_tensor()) json["tensor_by_rank"].push_back(job.tensor_of(place));
  }
  if (!plan.choices.recomputed.empty()) json["recomputed_layers"] = plan.choices.recomputed;
  if (!plan.choices.sharded.empty()) json["sharded_layers"] = plan.choices.sharded;
  if (!plan.choices.offloaded.empty()) json["offloaded_percent"] = plan.choices.offloaded;
  if (!score.fits()) json["missing_bytes"] = score.excess_bytes;
  return json;
}

void add_command(const char* key, const PlanCommand& command, Json& json) {
  json[key] = command.refused.empty() ? Json(command.text) : Json{{"refused", command.refused}};
  if (!command.note.empty()) json[std::string(key) + "_note"] = command.note;
  if (command.refused.empty() && !command.csv.empty()) json[std::string(key) + "_csv"] = command.csv;
}

/// How the plan is simulated again and launched.
void add_commands(const PlanQuestion& question, const ScoredPlan& score, const PlanFile& file, Json& json) {
  const SimulatedPlan plan = simulate_plan(score.plan, question.job.price);
  add_command("simulate", simulate_command(question, plan, file), json);
  if (const auto launch = launch_command(question, plan)) add_command("launch", *launch, json);
}

Json rates_json(const KernelRates& rates) {
  return {{"device", rates.device},
          {"basis", rates_basis_name(rates.basis)},
          {"fitted_rows", rates.fitted_rows},
          {"expected_error", rates.expected_error},
          {"source", rates.source}};
}

}  // namespace

std::string plan_answer_json(const PlanQuestion& question, const PlanAnswer& answer, const PlanFile& file) {
  Json json{{"format", "plumbline-plan-search"},
            {"version", 1},
            {"network", question.network.name},
            {"cluster", question.cluster.name},
            {"batch", question.job.batch},
            {"tokens", question.tokens()},
            {"bound_ns", answer.bound_ns},
            {"gap", answer.gap()},
            {"proved", answer.exhausted},
            {"simulations", answer.simulated},
            {"rates", rates_json(question.used_rates())},
            {"seeded", answer.seeded},
            {"setups", answer.setups},
            {"setups_without_memory", answer.without_memory},
            {"cut_short", answer.cut_short},
            {"unpriced", answer.unpriced}};
  json["best"] = Json::array();
  PlanFile each = file;
  for (const ScoredPlan& score : answer.best) {
    json["best"].push_back(plan_to_json(score, question));
    add_commands(question, score, each, json["best"].back());
    each.path.clear();  // only the best plan's schedule is written
  }
  json["front"] = Json::array();
  for (const ScoredPlan& score : shown_front(answer.front)) json["front"].push_back(plan_to_json(score, question));
  if (answer.closest) json["closest"] = plan_to_json(*answer.closest, question);
  return json.dump(2) + "\n";
}

}  // namespace plumb
