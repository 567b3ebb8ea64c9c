#include <nlohmann/json.hpp>

#include "schedules/document/schedule_io.hpp"
#include "sim/comparison/compare.hpp"

namespace plumb {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const FigureError& figure) {
  return {{"predicted", figure.predicted}, {"measured", figure.measured}, {"error", figure.error}};
}

/// "F", or "F+B" for overlapped pairs.
std::string kind_name(const KindError& kind) {
  std::string name(kOpNames[static_cast<std::size_t>(kind.op)]);
  if (kind.partner) name += "+" + std::string(kOpNames[static_cast<std::size_t>(*kind.partner)]);
  return name;
}

Json json_of(const KindError& kind) {
  return {{"op", kind_name(kind)},
          {"predicted_count", kind.predicted_count},
          {"measured_count", kind.measured_count},
          {"predicted_ns", kind.predicted_ns},
          {"measured_ns", kind.measured_ns},
          {"median_error", kind.median_error},
          {"p90_error", kind.p90_error}};
}

Json json_of(const CauseError& cause) {
  return {{"cause", kIdleCauseNames[static_cast<std::size_t>(cause.cause)]},
          {"predicted_ns", cause.predicted_ns},
          {"measured_ns", cause.measured_ns},
          {"predicted_share", cause.predicted_share},
          {"measured_share", cause.measured_share}};
}

Json json_of(const MemoryError& memory) {
  return {{"device", index(memory.device)},
          {"class", memory.cls ? Json(kMemoryClassNames[static_cast<std::size_t>(*memory.cls)]) : Json("peak")},
          {"predicted_bytes", memory.predicted_bytes},
          {"measured_bytes", memory.measured_bytes}};
}

Json json_of(const Offender& action) {
  return {{"device", index(action.device)},
          {"action", to_string(action.action)},
          {"predicted_start_ns", action.predicted_start_ns},
          {"measured_start_ns", action.measured_start_ns},
          {"predicted_ns", action.predicted_ns},
          {"measured_ns", action.measured_ns}};
}

Json json_of(const ErrorAction& action) {
  return {{"device", index(action.device)},
          {"action", to_string(action.action)},
          {"predicted_ns", action.predicted_ns},
          {"measured_ns", action.measured_ns},
          {"error_ns", action.error_ns}};
}

Json json_of(const PartOfError& part) {
  Json largest = Json::array();
  for (const ErrorAction& action : part.largest) largest.push_back(json_of(action));
  return {{"part", kErrorPartNames[static_cast<std::size_t>(part.part)]},
          {"model_ns", part.model_ns},
          {"noise_ns", part.noise_ns},
          {"largest", std::move(largest)}};
}

template <class T>
Json list_of(const std::vector<T>& values) {
  Json list = Json::array();
  for (const T& value : values) list.push_back(json_of(value));
  return list;
}

Json json_of(const ErrorSplit& split) {
  return {{"predicted_ns", split.predicted_ns},
          {"measured_ns", split.measured_ns},
          {"model_ns", split.model_ns},
          {"noise_ns", split.noise_ns},
          {"parts", list_of(split.parts)}};
}

constexpr std::array<std::string_view, 4> kVerdictNames{"none", "pass", "fail", "noisy"};

}  // namespace

std::string comparison_to_json(const Comparison& comparison) {
  Json json = {{"format", "plumbline-comparison"},
               {"version", 1},
               {"predicted_schedule", comparison.predicted_schedule},
               {"measured_schedule", comparison.measured_schedule},
               {"runs", comparison.runs},
               {"spread", comparison.spread},
               {"makespan_ns", json_of(comparison.makespan_ns)},
               {"step_time_ns", json_of(comparison.step_time_ns)},
               {"bubble_fraction", json_of(comparison.bubble_fraction)},
               {"utilization", json_of(comparison.utilization)}};
  if (comparison.tokens_per_s) json["tokens_per_s"] = json_of(*comparison.tokens_per_s);
  json["model_error"] = comparison.model_error();
  json["aligned"] = comparison.aligned;
  json["only_predicted"] = comparison.only_predicted;
  json["only_measured"] = comparison.only_measured;
  json["kinds"] = list_of(comparison.kinds);
  json["idle_causes"] = list_of(comparison.causes);
  json["memory"] = list_of(comparison.memory);
  if (comparison.split) json["split"] = json_of(*comparison.split);
  json["offenders"] = list_of(comparison.offenders);
  json["verdict"] = kVerdictNames[static_cast<std::size_t>(comparison.verdict)];
  json["findings"] = comparison.findings;
  // Names come from anywhere; bytes that are no UTF-8 are replaced.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace plumb
