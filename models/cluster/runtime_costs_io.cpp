#include "models/cluster/runtime_costs_io.hpp"

#include <array>
#include <string_view>

#include <nlohmann/json.hpp>

namespace plumb {
namespace {

constexpr std::int64_t kMostRuntimeNs = 1'000'000'000'000;
constexpr std::int64_t kMostCallBytes = std::int64_t{1} << 50U;

struct HostField {
  std::string_view key;
  std::int64_t RuntimeCosts::*field;
};

constexpr std::array<HostField, 4> kHostFields{
    {{"F", &RuntimeCosts::f_ns}, {"B", &RuntimeCosts::b_ns}, {"I", &RuntimeCosts::i_ns}, {"W", &RuntimeCosts::w_ns}}};

struct CallField {
  std::string_view key;
  std::int64_t CallCosts::*field;
};

constexpr std::array<CallField, 3> kCallFields{{{"send_ns", &CallCosts::send_ns},
                                                {"send_posted_ns", &CallCosts::send_posted_ns},
                                                {"receive_ns", &CallCosts::receive_ns}}};

CallCosts read_call(const JsonValue& json) {
  json.allow_only({"bytes", "send_ns", "send_posted_ns", "receive_ns"});
  CallCosts call;
  call.bytes = json.at("bytes").integer(1, kMostCallBytes);
  for (const CallField& field : kCallFields) {
    if (const auto value = json.find(field.key)) call.*field.field = value->integer(0, kMostRuntimeNs);
  }
  if (!json.find("send_posted_ns")) call.send_posted_ns = call.send_ns;
  return call;
}

}  // namespace

RuntimeCosts read_runtime_costs(const JsonValue& json) {
  json.allow_only({"host_ns", "calls"});
  RuntimeCosts costs;
  if (const auto host = json.find("host_ns")) {
    host->allow_only({"F", "B", "I", "W"});
    for (const HostField& field : kHostFields) {
      if (const auto value = host->find(field.key)) costs.*field.field = value->integer(0, kMostRuntimeNs);
    }
  }
  if (const auto calls = json.find("calls")) {
    for (const JsonValue& item : calls->elements()) {
      const CallCosts call = read_call(item);
      if (!costs.calls.empty() && call.bytes <= costs.calls.back().bytes)
        item.fail("expected sizes in ascending order, and each once");
      costs.calls.push_back(call);
    }
  }
  return costs;
}

std::string runtime_costs_to_json(const RuntimeCosts& costs) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const HostField& field : kHostFields) {
    if (costs.*field.field > 0) json["host_ns"][std::string(field.key)] = costs.*field.field;
  }
  for (const CallCosts& call : costs.calls) {
    nlohmann::ordered_json item{{"bytes", call.bytes}};
    for (const CallField& field : kCallFields) item[std::string(field.key)] = call.*field.field;
    json["calls"].push_back(std::move(item));
  }
  return json.dump();
}

}  // namespace plumb
