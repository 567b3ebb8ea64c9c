#include "models/sources/measured_json.hpp"

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

}  // namespace plumb
