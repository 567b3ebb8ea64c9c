#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "models/costs/time_limits.hpp"
#include "models/ground/json_reader.hpp"
#include "models/sources/profile.hpp"

namespace plumb {

/// Largest time in a profile.
inline constexpr std::int64_t kMostProfileNs = kMostLayerTime;

/// `{"median": 900, "p10": 880, "p90": 950, "n": 20, "mean": 905}`, in ns; the mean may be missing.
Measured read_measured(const JsonValue& json);
nlohmann::ordered_json measured_to_json(const Measured& measured);

}  // namespace plumb
