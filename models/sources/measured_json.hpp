#pragma once

#include <cstdint>

#include "models/costs/time_limits.hpp"
#include "models/ground/json_reader.hpp"
#include "models/sources/profile.hpp"

namespace plumb {

/// Largest time in a profile.
inline constexpr std::int64_t kMostProfileNs = kMostLayerTime;

/// `{"median": 900, "p10": 880, "p90": 950, "n": 20, "mean": 905}`, in ns; the mean may be missing.
Measured read_measured(const JsonValue& json);

/// Writes the value as an object of the library of the source that asks for it.
template <class Json>
Json measured_to_json(const Measured& measured) {
  Json json{{"median", measured.median_ns}, {"p10", measured.p10_ns}, {"p90", measured.p90_ns}, {"n", measured.count}};
  if (measured.mean_ns > 0) json["mean"] = measured.mean_ns;
  return json;
}

}  // namespace plumb
