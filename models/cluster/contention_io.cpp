#include "models/cluster/contention_io.hpp"

#include <algorithm>
#include <span>
#include <string>

#include <nlohmann/json.hpp>

namespace plumb {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMostGamma = 1000;
constexpr double kMostOccupied = 0.99;
constexpr double kLeastClock = 1e-3;
constexpr double kMostLoad = 1e6;
constexpr std::size_t kMostPoints = 65536;
constexpr std::int64_t kMostPeriod = 1'000'000'000'000;

std::size_t load_named(const JsonValue& name, std::size_t known) {
  const auto names = std::span(kLoadNames).first(known);
  const auto at = std::ranges::find(names, name.text());
  if (at == names.end()) {
    std::string all;
    for (const std::string_view one : names) all += (all.empty() ? "one of " : ", ") + std::string(one);
    name.fail_expected(all);
  }
  return static_cast<std::size_t>(at - names.begin());
}

/// `"F"` or `["F", "B"]`, of the first `known` loads.
LoadSet read_loads(const JsonValue& json, std::size_t known) {
  if (!json.is_array()) return LoadSet{1} << load_named(json, known);
  LoadSet set = 0;
  for (const JsonValue& name : json.elements()) {
    const LoadSet bit = LoadSet{1} << load_named(name, known);
    if ((set & bit) != 0) name.fail("is named twice, expected each load once");
    set |= bit;
  }
  if (set == 0) json.fail("expected at least one load");
  return set;
}

Slowdown read_slowdown(const JsonValue& json) {
  json.allow_only({"of", "by", "gamma"});
  Slowdown slowdown;
  slowdown.of = read_loads(json.at("of"), kComputeLoads);
  slowdown.by = read_loads(json.at("by"), kLoadCount);
  const JsonValue gamma = json.at("gamma");
  for (const JsonValue& value : gamma.elements()) slowdown.gamma.push_back(value.number(0, kMostGamma));
  if (slowdown.gamma.empty() || slowdown.gamma.size() > kMostPoints) gamma.fail("expected 1 to 65536 numbers");
  return slowdown;
}

std::vector<ClockPoint> read_points(const JsonValue& json) {
  std::vector<ClockPoint> points;
  for (const JsonValue& item : json.elements()) {
    if (!item.is_array() || item.size() != 2) item.fail_expected("[load, clock]");
    const JsonValue load = *item.elements().begin();
    const JsonValue clock = *++item.elements().begin();
    points.push_back({load.number(0, kMostLoad), clock.number(kLeastClock, 1)});
    const std::size_t last = points.size() - 1;
    if (last > 0 && points[last].load <= points[last - 1].load) load.fail("expected a load above the one before");
  }
  if (points.empty() || points.size() > kMostPoints) json.fail("expected 1 to 65536 points");
  return points;
}

ClockModel read_clock(const JsonValue& json) {
  json.allow_only({"per", "load", "points", "period_ns", "gain"});
  ClockModel clock;
  if (const auto per = json.find("per")) {
    if (per->text() != "node" && per->text() != "device") per->fail_expected("\"node\" or \"device\"");
    clock.per_device = per->text() == "device";
  }
  const JsonValue load = json.at("load");
  load.allow_only(std::vector<std::string_view>(kLoadNames.begin(), kLoadNames.end()));
  for (std::size_t l = 0; l < kLoadCount; ++l) {
    if (const auto value = load.find(kLoadNames[l])) clock.load[l] = value->number(0, kMostLoad);
  }
  clock.points = read_points(json.at("points"));
  if (const auto period = json.find("period_ns")) clock.period_ns = period->integer(0, kMostPeriod);
  if (const auto gain = json.find("gain")) clock.gain = gain->number(1e-6, 1);
  return clock;
}

Json loads_to_json(LoadSet set) {
  Json names = Json::array();
  for (std::size_t l = 0; l < kLoadCount; ++l) {
    if (has(set, l)) names.push_back(kLoadNames[l]);
  }
  return names;
}

Json clock_to_json(const ClockModel& clock) {
  Json json{{"per", clock.per_device ? "device" : "node"}, {"load", Json::object()}, {"points", Json::array()}};
  for (std::size_t l = 0; l < kLoadCount; ++l) {
    if (clock.load[l] != 0) json["load"][std::string(kLoadNames[l])] = clock.load[l];
  }
  for (const ClockPoint& point : clock.points) json["points"].push_back({point.load, point.clock});
  json["period_ns"] = clock.period_ns;
  json["gain"] = clock.gain;
  return json;
}

}  // namespace

Contention read_contention(const JsonValue& json) {
  json.allow_only({"slowdown", "theft", "clock"});
  Contention contention;
  if (const auto slowdowns = json.find("slowdown")) {
    for (const JsonValue& item : slowdowns->elements()) contention.slowdowns.push_back(read_slowdown(item));
  }
  if (const auto theft = json.find("theft")) {
    theft->allow_only({"message", "collective"});
    if (const auto share = theft->find("message")) contention.message_share = share->number(0, kMostOccupied);
    if (const auto share = theft->find("collective")) contention.collective_share = share->number(0, kMostOccupied);
  }
  if (const auto clock = json.find("clock")) contention.clock = read_clock(*clock);
  return contention;
}

std::string contention_to_json(const Contention& contention) {
  Json json = Json::object();
  if (!contention.slowdowns.empty()) json["slowdown"] = Json::array();
  for (const Slowdown& slowdown : contention.slowdowns) {
    json["slowdown"].push_back(
        {{"of", loads_to_json(slowdown.of)}, {"by", loads_to_json(slowdown.by)}, {"gamma", slowdown.gamma}});
  }
  Json theft = Json::object();
  if (contention.message_share > 0) theft["message"] = contention.message_share;
  if (contention.collective_share > 0) theft["collective"] = contention.collective_share;
  if (!theft.empty()) json["theft"] = std::move(theft);
  if (contention.clock) json["clock"] = clock_to_json(*contention.clock);
  return json.dump();
}

}  // namespace plumb
