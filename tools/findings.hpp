#pragma once

#include <string>
#include <vector>

#include "schedules/validate.hpp"

namespace plumb {

/// What is wrong with `schedule`. A document too long to be written out is checked with fewer iterations of its
/// repeats: those that are left out do what their neighbours do. Throws `Error` when it is long and does not repeat.
std::vector<Violation> check_schedule(const Schedule& schedule);

/// All violations of the schedule called `where`, one per line, and their number. Past the first hundred they are only
/// counted.
std::string findings_text(const std::string& where, const std::vector<Violation>& violations);

}  // namespace plumb
