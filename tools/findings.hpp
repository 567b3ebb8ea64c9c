#pragma once

#include <string>
#include <vector>

#include "schedules/validate.hpp"

namespace plumb {

/// All violations of the schedule called `where`, one per line, and their number. Past the first hundred they are only
/// counted.
std::string findings_text(const std::string& where, const std::vector<Violation>& violations);

}  // namespace plumb
