#pragma once

#include <string>

namespace plumb::testing {

/// What is wrong with the JSON text `document` by a JSON Schema (draft 2020-12): "devices/0/2: ..."; empty when it
/// conforms. Knows the keywords that our schemas use and refuses any other, so that a schema cannot promise what is not
/// checked.
std::string schema_violation(const std::string& schema, const std::string& document);

}  // namespace plumb::testing
