#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/ask/asked.hpp"

namespace plumb {

/// A question by its name in requests.
struct NamedQuestion {
  std::string_view name;
  AskedQuestionPtr question;
};

/// JSON Schema (draft 2020-12) of the requests that ask one of `questions`: a definition for each, with every field,
/// its type, its range and what it means.
std::string request_schema(const std::vector<NamedQuestion>& questions);

}  // namespace plumb
