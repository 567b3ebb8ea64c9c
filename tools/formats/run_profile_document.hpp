#pragma once

#include <optional>
#include <string>

#include "models/sources/run_profile.hpp"

namespace plumb {

/// What a real run cost, from a document of it: its profile, or its timeline (`profile_of_timeline`). Nothing in other
/// documents.
std::optional<RunProfile> run_profile_in(std::string text, const std::string& path);

}  // namespace plumb
