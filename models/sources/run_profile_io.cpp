#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "models/ground/json_reader.hpp"
#include "models/sources/measured_json.hpp"
#include "models/sources/run_profile.hpp"

namespace plumb {
namespace {

constexpr const char* kRunProfileFormat = "plumbline-run-profile";

struct PassField {
  std::string_view key;
  Measured MeasuredPasses::*field;
};

constexpr std::array<PassField, 4> kPassFields{
    {{"F", &MeasuredPasses::f}, {"B", &MeasuredPasses::b}, {"I", &MeasuredPasses::i}, {"W", &MeasuredPasses::w}}};

struct CallField {
  std::string_view key;
  Measured RunProfile::*field;
};

constexpr std::array<CallField, 4> kCallFields{{{"send_ns", &RunProfile::send},
                                                {"send_posted_ns", &RunProfile::send_posted},
                                                {"receive_ns", &RunProfile::receive},
                                                {"message_ns", &RunProfile::message}}};

MeasuredPasses read_passes(const JsonValue& json) {
  json.allow_only({"F", "B", "I", "W"});
  MeasuredPasses passes;
  for (const PassField& pass : kPassFields) {
    if (const auto value = json.find(pass.key)) passes.*pass.field = read_measured(*value);
  }
  return passes;
}

/// A stage runs F; and B, or I and W, or none of them.
MeasuredPasses read_stage_passes(const JsonValue& json) {
  MeasuredPasses passes = read_passes(json);
  if (passes.f.count == 0) json.at("F");
  if ((passes.i.count > 0) != (passes.w.count > 0)) json.fail("has I or W alone, expected both or B");
  return passes;
}

nlohmann::ordered_json passes_to_json(const MeasuredPasses& passes) {
  auto json = nlohmann::ordered_json::object();
  for (const PassField& pass : kPassFields) {
    if ((passes.*pass.field).count > 0)
      json[std::string(pass.key)] = measured_to_json<nlohmann::ordered_json>(passes.*pass.field);
  }
  return json;
}

}  // namespace

bool is_run_profile(std::string_view text, std::string_view file_name) {
  const JsonDocument document{std::string(text), std::string(file_name)};
  if (!document.root().is_object()) return false;
  const auto format = document.root().find("format");
  return format && format->is_string() && format->text() == kRunProfileFormat;
}

RunProfile run_profile_from_json(std::string_view text, std::string_view file_name) {
  const JsonDocument document{std::string(text), std::string(file_name)};
  const JsonValue root = document.root();
  check_format(root, kRunProfileFormat, 1);
  root.allow_only({"format", "version", "machine", "runtime", "stages_ns", "inside_ns", "host_ns", "send_ns",
                   "send_posted_ns", "receive_ns", "message_ns", "message_capacity"});
  RunProfile profile;
  profile.machine = root.at("machine").text();
  profile.runtime = root.at("runtime").text();
  const JsonValue stages = root.at("stages_ns");
  for (const JsonValue& stage : stages.elements()) profile.stages.push_back(read_stage_passes(stage));
  if (profile.stages.empty()) stages.fail("expected at least one stage");
  if (const auto inside = root.find("inside_ns")) profile.inside = read_passes(*inside);
  if (const auto host = root.find("host_ns")) profile.host = read_passes(*host);
  for (const CallField& call : kCallFields) {
    if (const auto value = root.find(call.key)) profile.*call.field = read_measured(*value);
  }
  if (const auto capacity = root.find("message_capacity")) profile.message_capacity = capacity->number(1, 1e6);
  return profile;
}

std::string run_profile_to_json(const RunProfile& profile) {
  using Json = nlohmann::ordered_json;
  std::string text = "{\n  \"format\": \"" + std::string(kRunProfileFormat) + "\", \"version\": 1,\n";
  text += "  \"machine\": " + Json(profile.machine).dump() + ", \"runtime\": " + Json(profile.runtime).dump() + ",\n";
  text += "  \"stages_ns\": [";
  for (std::size_t s = 0; s < profile.stages.size(); ++s) {
    text += (s == 0 ? "\n    " : ",\n    ") + passes_to_json(profile.stages[s]).dump();
  }
  text += "\n  ],\n  \"inside_ns\": " + passes_to_json(profile.inside).dump() +
          ",\n  \"host_ns\": " + passes_to_json(profile.host).dump();
  for (const CallField& call : kCallFields) {
    if ((profile.*call.field).count == 0) continue;
    text += ",\n  \"" + std::string(call.key) +
            "\": " + measured_to_json<nlohmann::ordered_json>(profile.*call.field).dump();
  }
  if (profile.message_capacity > 0) text += ",\n  \"message_capacity\": " + Json(profile.message_capacity).dump();
  return text + "\n}\n";
}

}  // namespace plumb
