#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "models/cluster/contention_io.hpp"
#include "models/ground/json_reader.hpp"
#include "models/sources/measured_json.hpp"
#include "models/sources/profile.hpp"

namespace plumb {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMostProfileBytes = std::int64_t{1} << 50;
constexpr std::int64_t kMostInFlight = std::int64_t{1} << 31;

struct MeasuredField {
  std::string_view key;
  Measured ProfiledTimes::*field;
  bool required;
};

constexpr std::array<MeasuredField, 8> kMeasuredFields{{{"f_ns", &ProfiledTimes::f, true},
                                                        {"b_ns", &ProfiledTimes::b, false},
                                                        {"i_ns", &ProfiledTimes::i, true},
                                                        {"w_ns", &ProfiledTimes::w, true},
                                                        {"r_ns", &ProfiledTimes::r, false},
                                                        {"u_ns", &ProfiledTimes::u, false},
                                                        {"evict_ns", &ProfiledTimes::evict, false},
                                                        {"load_ns", &ProfiledTimes::load, false}}};

struct PrecisionField {
  std::string_view key;
  std::int64_t Precision::*field;
};

constexpr std::array<PrecisionField, 4> kPrecisionFields{{{"activation_bytes", &Precision::activation_bytes},
                                                          {"weight_bytes", &Precision::weight_bytes},
                                                          {"gradient_bytes", &Precision::gradient_bytes},
                                                          {"optimizer_bytes", &Precision::optimizer_bytes}}};

/// The range must begin at `begin`, so that a list covers the chain without gaps.
ProfiledTimes read_times(const JsonValue& json, std::size_t begin, std::size_t most_layers) {
  json.allow_only({"layers", "in_flight", "f_ns", "b_ns", "i_ns", "w_ns", "r_ns", "u_ns", "evict_ns", "load_ns"});
  const JsonValue layers = json.at("layers");
  if (layers.size() != 2 || !layers.is_array()) layers.fail_expected("[begin, end]");
  const JsonValue first = *layers.elements().begin();
  const JsonValue second = *++layers.elements().begin();
  const auto at = static_cast<std::int64_t>(begin);
  ProfiledTimes times;
  times.layers.begin = static_cast<std::size_t>(first.integer(at, at));
  times.layers.end = static_cast<std::size_t>(second.integer(at + 1, at + static_cast<std::int64_t>(most_layers)));
  if (const auto in_flight = json.find("in_flight")) times.in_flight = in_flight->integer(1, kMostInFlight);
  for (const MeasuredField& field : kMeasuredFields) {
    if (const auto value = json.find(field.key)) {
      times.*field.field = read_measured(*value);
    } else if (field.required) {
      json.at(field.key);
    }
  }
  return times;
}

/// Consecutive ranges of at most `most_layers` layers each.
std::vector<ProfiledTimes> read_chain(const JsonValue& list, std::size_t most_layers) {
  std::vector<ProfiledTimes> chain;
  for (const JsonValue& item : list.elements()) {
    chain.push_back(read_times(item, chain.empty() ? 0 : chain.back().layers.end, most_layers));
  }
  return chain;
}

/// Returns the stages again, with more microbatches in flight.
std::vector<ProfiledTimes> read_crowded(const JsonValue& list, const std::vector<ProfiledTimes>& stages) {
  std::vector<ProfiledTimes> crowded = read_chain(list, 1'000'000);
  const bool same = std::ranges::equal(crowded, stages, {}, &ProfiledTimes::layers, &ProfiledTimes::layers);
  if (!crowded.empty() && !same) list.fail("expected the layers of the stages");
  return crowded;
}

Precision read_precision(const JsonValue& json) {
  json.allow_only({"activation_bytes", "weight_bytes", "gradient_bytes", "optimizer_bytes"});
  Precision precision;
  for (const PrecisionField& field : kPrecisionFields) precision.*field.field = json.at(field.key).integer(0, 64);
  return precision;
}

ProfiledTransfer read_transfer(const JsonValue& json, std::int64_t least_bytes) {
  json.allow_only({"bytes", "latency_ns", "bytes_per_s"});
  return {json.at("bytes").integer(least_bytes, kMostProfileBytes), json.at("latency_ns").integer(0, kMostProfileNs),
          json.at("bytes_per_s").number(1, 1e24)};
}

Json times_to_json(const ProfiledTimes& times) {
  Json json{{"layers", {times.layers.begin, times.layers.end}}};
  if (times.in_flight > 0) json["in_flight"] = times.in_flight;
  for (const MeasuredField& field : kMeasuredFields) {
    const Measured& measured = times.*field.field;
    if (measured.count > 0) json[std::string(field.key)] = measured_to_json<nlohmann::ordered_json>(measured);
  }
  return json;
}

/// `"key": [` one element per line `]`.
template <class List, class ToJson>
std::string lines(const char* key, const List& list, ToJson to_json) {
  std::string text = "  \"" + std::string(key) + "\": [";
  bool first = true;
  for (const auto& item : list) {
    text += (first ? "\n    " : ",\n    ") + to_json(item).dump();
    first = false;
  }
  return text + (first ? "]" : "\n  ]");
}

}  // namespace

Profile profile_from_json(std::string_view text, std::string_view file_name) {
  const JsonDocument document{std::string(text), std::string(file_name)};
  const JsonValue root = document.root();
  check_format(root, "plumbline-profile", 1);
  root.allow_only({"format", "version", "machine", "backend", "network", "samples", "sequence", "precision", "stages",
                   "crowded", "layers", "transfers", "contention"});
  Profile profile;
  profile.machine = root.at("machine").text();
  if (const auto backend = root.find("backend")) profile.backend = backend->text();
  profile.network = root.at("network").text();
  profile.shape = {root.at("samples").integer(1, kMostProfileBytes), root.at("sequence").integer(1, kMostProfileBytes)};
  if (const auto precision = root.find("precision")) profile.precision = read_precision(*precision);

  const JsonValue stages = root.at("stages");
  profile.stages = read_chain(stages, 1'000'000);
  if (profile.stages.empty()) stages.fail("expected at least one stage");
  if (const auto crowded = root.find("crowded")) profile.crowded = read_crowded(*crowded, profile.stages);
  if (const auto layers = root.find("layers")) {
    profile.layers = read_chain(*layers, 1);
    if (!profile.layers.empty() && profile.layers.size() != profile.stages.back().layers.end) {
      layers->fail("expected " + std::to_string(profile.stages.back().layers.end) + " layers as in the stages, found " +
                   std::to_string(profile.layers.size()));
    }
  }
  if (const auto transfers = root.find("transfers")) {
    for (const JsonValue& item : transfers->elements()) {
      const std::int64_t least = profile.transfers.empty() ? 0 : profile.transfers.back().bytes + 1;
      profile.transfers.push_back(read_transfer(item, least));
    }
  }
  if (const auto contention = root.find("contention")) profile.contention = read_contention(*contention);
  return profile;
}

std::string profile_to_json(const Profile& profile) {
  const auto text = [](const std::string& value) { return Json(value).dump(); };
  Json precision = Json::object();
  for (const PrecisionField& field : kPrecisionFields) {
    precision[std::string(field.key)] = profile.precision.*field.field;
  }
  std::string json = "{\n  \"format\": \"plumbline-profile\", \"version\": 1,\n";
  json += "  \"machine\": " + text(profile.machine) + ", \"backend\": " + text(profile.backend) + ",\n";
  json += "  \"network\": " + text(profile.network) + ", \"samples\": " + std::to_string(profile.shape.samples) +
          ", \"sequence\": " + std::to_string(profile.shape.sequence) + ",\n";
  json += "  \"precision\": " + precision.dump() + ",\n";
  json += lines("stages", profile.stages, times_to_json) + ",\n";
  if (!profile.crowded.empty()) json += lines("crowded", profile.crowded, times_to_json) + ",\n";
  json += lines("layers", profile.layers, times_to_json) + ",\n";
  json += lines("transfers", profile.transfers, [](const ProfiledTransfer& transfer) {
    return Json{{"bytes", transfer.bytes}, {"latency_ns", transfer.latency_ns}, {"bytes_per_s", transfer.bytes_per_s}};
  });
  if (!profile.contention.empty()) json += ",\n  \"contention\": " + contention_to_json(profile.contention);
  return json + "\n}\n";
}

}  // namespace plumb
