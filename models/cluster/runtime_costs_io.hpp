#pragma once

#include <string>

#include "models/cluster/runtime_costs.hpp"
#include "models/ground/json_reader.hpp"

namespace plumb {

/// Reads the value of the key `runtime` of a cluster (models/cluster/CLUSTER_DOCUMENT.md, "Runtime"). Throws `Error`
/// with line, column and path.
RuntimeCosts read_runtime_costs(const JsonValue& json);

/// Writes the value as JSON. Reading it gives an equal one.
std::string runtime_costs_to_json(const RuntimeCosts& costs);

}  // namespace plumb
