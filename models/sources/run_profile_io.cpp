#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "models/ground/error.hpp"
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

constexpr std::array<PassField, 5> kPassFields{{{"F", &MeasuredPasses::f},
                                                {"B", &MeasuredPasses::b},
                                                {"I", &MeasuredPasses::i},
                                                {"W", &MeasuredPasses::w},
                                                {"U", &MeasuredPasses::u}}};

struct MessageField {
  std::string_view key;
  Measured MeasuredMessages::*field;
};

constexpr std::array<MessageField, 4> kMessageFields{{{"send_ns", &MeasuredMessages::send},
                                                      {"send_posted_ns", &MeasuredMessages::send_posted},
                                                      {"receive_ns", &MeasuredMessages::receive},
                                                      {"message_ns", &MeasuredMessages::message}}};

constexpr std::int64_t kMostMessageBytes = std::int64_t{1} << 50U;

MeasuredPasses read_passes(const JsonValue& json) {
  json.allow_only({"F", "B", "I", "W", "U"});
  MeasuredPasses passes;
  for (const PassField& pass : kPassFields) {
    if (const auto value = json.find(pass.key)) passes.*pass.field = read_measured(*value);
  }
  return passes;
}

/// Returns a stage runs F; and B, or I and W, or none of them.
MeasuredPasses read_stage_passes(const JsonValue& json) {
  MeasuredPasses passes = read_passes(json);
  if (passes.f.count == 0) json.at("F");
  if ((passes.i.count > 0) != (passes.w.count > 0)) json.fail("has I or W alone, expected both or B");
  return passes;
}

MeasuredMessages read_times(const JsonValue& json, std::string_view capacity_key) {
  MeasuredMessages messages;
  for (const MessageField& field : kMessageFields) {
    if (const auto value = json.find(field.key)) messages.*field.field = read_measured(*value);
  }
  if (const auto capacity = json.find(capacity_key)) messages.capacity = capacity->number(1, 1e6);
  return messages;
}

MeasuredMessages read_messages(const JsonValue& json) {
  json.allow_only({"bytes", "send_ns", "send_posted_ns", "receive_ns", "message_ns", "capacity"});
  MeasuredMessages messages = read_times(json, "capacity");
  if (const auto bytes = json.find("bytes")) messages.bytes = bytes->integer(1, kMostMessageBytes);
  return messages;
}

/// Returns whether times of messages stand beside the stages, as before there were sizes of messages.
bool has_one_size(const JsonValue& root) {
  const auto stands = [&](const MessageField& field) { return root.find(field.key).has_value(); };
  return root.find("message_capacity") || std::ranges::any_of(kMessageFields, stands);
}

/// Reads sizes in ascending order, each once; the document tells which one is to be predicted.
void read_sizes(const JsonValue& root, RunProfile& profile) {
  const auto sizes = root.find("messages");
  const auto own = root.find("message_bytes");
  if (has_one_size(root)) {
    if (sizes) sizes->fail("stand beside times of messages without a size; expected one of the two");
    profile.messages.push_back(read_times(root, "message_capacity"));
  }
  if (sizes) {
    for (const JsonValue& size : sizes->elements()) {
      profile.messages.push_back(read_messages(size));
      const std::size_t last = profile.messages.size() - 1;
      if (last > 0 && profile.messages[last].bytes <= profile.messages[last - 1].bytes)
        size.fail("expected sizes in ascending order, and each once");
    }
  }
  if (own) profile.message_bytes = own->integer(1, kMostMessageBytes);
  if (!own && profile.messages.size() == 1) profile.message_bytes = profile.messages.front().bytes;
  if (!own && profile.messages.size() > 1) root.at("message_bytes");
  try {
    message_times(profile.messages, profile.message_bytes);
  } catch (const Error& error) {
    root.fail(error.what());
  }
}

nlohmann::ordered_json messages_to_json(const MeasuredMessages& messages) {
  auto json = nlohmann::ordered_json::object();
  if (messages.bytes > 0) json["bytes"] = messages.bytes;
  for (const MessageField& field : kMessageFields) {
    if ((messages.*field.field).count > 0)
      json[std::string(field.key)] = measured_to_json<nlohmann::ordered_json>(messages.*field.field);
  }
  if (messages.capacity > 0) json["capacity"] = messages.capacity;
  return json;
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
  return read_run_profile(document.root());
}

RunProfile read_run_profile(const JsonValue& root) {
  check_format(root, kRunProfileFormat, 1);
  root.allow_only({"format", "version", "machine", "runtime", "stages_ns", "inside_ns", "host_ns", "messages",
                   "message_bytes", "input_grad_share", "send_ns", "send_posted_ns", "receive_ns", "message_ns",
                   "message_capacity"});
  RunProfile profile;
  profile.machine = root.at("machine").text();
  profile.runtime = root.at("runtime").text();
  const JsonValue stages = root.at("stages_ns");
  for (const JsonValue& stage : stages.elements()) profile.stages.push_back(read_stage_passes(stage));
  if (profile.stages.empty()) stages.fail("expected at least one stage");
  if (const auto inside = root.find("inside_ns")) profile.inside = read_passes(*inside);
  if (const auto host = root.find("host_ns")) profile.host = read_passes(*host);
  read_sizes(root, profile);
  if (const auto share = root.find("input_grad_share")) profile.input_grad_share = share->number(0, 1);
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
  text += ",\n  \"messages\": [";
  for (std::size_t k = 0; k < profile.messages.size(); ++k) {
    text += (k == 0 ? "\n    " : ",\n    ") + messages_to_json(profile.messages[k]).dump();
  }
  text += profile.messages.empty() ? "]" : "\n  ]";
  if (profile.message_bytes > 0) text += ",\n  \"message_bytes\": " + std::to_string(profile.message_bytes);
  if (profile.input_grad_share > 0) text += ",\n  \"input_grad_share\": " + Json(profile.input_grad_share).dump();
  return text + "\n}\n";
}

}  // namespace plumb
