#pragma once

#include <string>

#include "models/cluster/contention.hpp"
#include "models/ground/json_reader.hpp"

namespace plumb {

/// Reads the value of the key `contention` of a cluster or profile (models/cluster/CLUSTER_DOCUMENT.md, "Contention").
/// Throws `Error` with line, column and path.
Contention read_contention(const JsonValue& json);

/// Writes the value as JSON. Reading it gives an equal one.
std::string contention_to_json(const Contention& contention);

}  // namespace plumb
