#pragma once

#include <string>
#include <utility>
#include <vector>

#include "schedules/document/schedule.hpp"

namespace plumb {

/// The members of a schedule document, but for its format, its version and the lists of its devices, in the order in
/// which they are written: each with its name and its JSON on one line. Fields with their default value are left out
/// where the document leaves them out.
std::vector<std::pair<std::string, std::string>> json_fields(const Schedule& schedule);

}  // namespace plumb
