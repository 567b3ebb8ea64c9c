#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/advice/advice_text.hpp"

namespace plumb {

std::string advice_to_json(const Advice& advice) {
  using Json = nlohmann::ordered_json;
  const auto whole = [](double ns) { return std::llround(ns); };
  Json schedules = Json::array();
  for (const AdvisedSchedule& each : advice.schedules) {
    Json row{{"schedule", each.candidate.name},
             {"stages_per_device", each.stages_per_device},
             {"pipeline_ranks", each.candidate.schedule.num_devices},
             {"replicas", each.candidate.replicas},
             {"step_ns", whole(each.step_ns)},
             {"low_ns", whole(each.low_ns)},
             {"high_ns", whole(each.high_ns)},
             {"saves", each.saves},
             {"bubble_fraction", each.bubble_fraction},
             {"stashes", each.stashes},
             {"fits", each.fits},
             {"this_run", each.candidate.is_run},
             {"ties", each.ties},
             {"command", schedule_command(advice, each)}};
    if (each.memory_bytes > 0) row["memory_bytes"] = each.memory_bytes;
    schedules.push_back(std::move(row));
  }
  Json left_out = Json::array();
  for (const UnfitSchedule& each : advice.left_out)
    left_out.push_back({{"schedule", each.name}, {"reason", each.reason}});
  const Json document{{"format", "plumbline-advice"},
                      {"version", 1},
                      {"runtime", advice.runtime},
                      {"run_by", advice.run_by},
                      {"verdict", verdict_sentence(advice)},
                      {"devices", advice.num_devices},
                      {"microbatches", advice.num_microbatches},
                      {"measured_step_ns", whole(advice.measured_ns)},
                      {"measured_steps", advice.steps},
                      {"predicted_step_ns", whole(advice.predicted_ns)},
                      {"spread", advice.spread},
                      {"uncertainty", advice.uncertainty},
                      {"assumptions", advice.assumptions},
                      {"schedules", schedules},
                      {"left_out", left_out}};
  return document.dump(1) + '\n';
}

}  // namespace plumb
