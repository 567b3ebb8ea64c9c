#pragma once

#include "models/ground/json_reader.hpp"
#include "schedules/document/schedule.hpp"

namespace plumb {

/// Reads `weights` of a schedule document of `schedule`, whose sizes are known. Throws `Error` for unknown policies,
/// lists that are not one per stage, and a prediction without the policy.
Weights weights_from_json(const JsonValue& json, const Schedule& schedule);

}  // namespace plumb
