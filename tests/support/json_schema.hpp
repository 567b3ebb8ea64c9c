#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace plumb::testing {

/// What is wrong with `value` by a JSON Schema (draft 2020-12): "devices/0/2: ..."; empty when it conforms.
/// Knows the keywords that our schemas use and refuses any other, so that a schema cannot promise what is not checked.
std::string schema_violation(const nlohmann::json& schema, const nlohmann::json& value);

}  // namespace plumb::testing
