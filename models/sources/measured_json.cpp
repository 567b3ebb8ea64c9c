#include "models/sources/measured_json.hpp"

#include <nlohmann/json.hpp>

namespace plumb {

Measured read_measured(const JsonValue& json) {
  json.allow_only({"median", "p10", "p90", "n", "mean"});
  Measured measured;
  measured.count = json.at("n").integer(1, kMostProfileNs);
  measured.p10_ns = json.at("p10").integer(0, kMostProfileNs);
  measured.median_ns = json.at("median").integer(measured.p10_ns, kMostProfileNs);
  measured.p90_ns = json.at("p90").integer(measured.median_ns, kMostProfileNs);
  if (const auto mean = json.find("mean")) measured.mean_ns = mean->integer(1, kMostProfileNs);
  return measured;
}

nlohmann::ordered_json measured_to_json(const Measured& measured) {
  nlohmann::ordered_json json = {
      {"median", measured.median_ns}, {"p10", measured.p10_ns}, {"p90", measured.p90_ns}, {"n", measured.count}};
  if (measured.mean_ns > 0) json["mean"] = measured.mean_ns;
  return json;
}

}  // namespace plumb
