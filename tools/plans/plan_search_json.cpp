#include <nlohmann/json.hpp>

#include "tools/plans/plan_search_text.hpp"
#include "tools/tables/rates_text.hpp"

namespace plumb {
namespace {

using Json = nlohmann::ordered_json;

Json plan_to_json(const ScoredPlan& score, const PlanQuestion& question) {
  const PipelinePlan& plan = score.plan;
  const Parallelism& job = plan.parallelism;
  Json json{{"schedule", plan.schedule},
            {"places", plan.places},
            {"chunks", plan.stages_per_place()},
            {"microbatches", plan.microbatches},
            {"microbatch_size", job.microbatch_size},
            {"tensor", job.tensor},
            {"context", job.context},
            {"expert", job.expert},
            {"expert_tensor", job.expert_parts()},
            {"data", job.data},
            {"zero", static_cast<int>(job.zero)},
            {"recompute", job.recompute == ActivationRecompute::kFull        ? "full"
                          : job.recompute == ActivationRecompute::kSelective ? "selective"
                                                                             : "none"},
            {"devices", plan.num_devices()},
            {"order", plan.order},
            {"partition", to_string(plan.partition)},
            {"step_time_ns", score.step_ns},
            {"bubble_fraction", score.bubble_fraction},
            {"peak_memory_bytes", score.peak_bytes},
            {"device_seconds", score.device_seconds()}};
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
  if (!score.fits()) json["missing_bytes"] = score.excess_bytes;
  return json;
}

Json rates_json(const KernelRates& rates) {
  return {{"device", rates.device},
          {"basis", rates_basis_name(rates.basis)},
          {"fitted_rows", rates.fitted_rows},
          {"expected_error", rates.expected_error},
          {"source", rates.source}};
}

}  // namespace

std::string plan_answer_json(const PlanQuestion& question, const PlanAnswer& answer) {
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
            {"setups_without_memory", answer.without_memory}};
  json["best"] = Json::array();
  for (const ScoredPlan& score : answer.best) json["best"].push_back(plan_to_json(score, question));
  json["front"] = Json::array();
  for (const ScoredPlan& score : answer.front) json["front"].push_back(plan_to_json(score, question));
  if (answer.closest) json["closest"] = plan_to_json(*answer.closest, question);
  return json.dump(2) + "\n";
}

}  // namespace plumb
