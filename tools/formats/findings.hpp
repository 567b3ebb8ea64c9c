#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedules/checks/validate.hpp"
#include "tools/formats/schedule_formats.hpp"

namespace plumb {

/// What is wrong with `schedule`. A document too long to be written out is checked with fewer iterations of its
/// repeats: those that are left out do what their neighbours do. Throws `Error` when it is long and does not repeat.
std::vector<Violation> check_schedule(const Schedule& schedule);

/// All violations of the schedule called `where`, one per line, and their number; in a CSV file with line and cell.
/// Past the first hundred they are only counted.
std::string findings_text(const std::string& where, const std::vector<Violation>& violations);

/// Notes that text (tools/terminal/notes.hpp).
void note_findings(const std::string& where, const std::vector<Violation>& violations);

/// The text of `schedule` in `format`, lowered as the format asks for. No value when it is invalid, or would be as
/// lowered; all findings have then been noted.
std::optional<std::string> written_schedule(const std::string& where, const ScheduleFormat& format, Schedule schedule);

}  // namespace plumb
