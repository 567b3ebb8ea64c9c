#pragma once

#include <string>

#include "models/sources/profile.hpp"

namespace plumb {

/// The medians of a profile for a terminal, one row per stage, with the spread of F and B.
std::string profile_text(const Profile& profile);

}  // namespace plumb
