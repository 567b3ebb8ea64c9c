#pragma once

#include <span>
#include <string>
#include <string_view>

#include "schedules/schedule.hpp"

namespace plumb {

/// One row of the table of schedule formats.
struct ScheduleFormat {
  std::string_view name;       ///< as in `--format`
  std::string_view extension;  ///< of its files
  Schedule (*read)(std::string_view text, std::string_view file_name);
  std::string (*write)(const Schedule& schedule);
};

std::span<const ScheduleFormat> schedule_formats();

/// The format called `name`, or, when `name` is empty, the one that `path` ends in; JSON when it ends in none.
/// Throws `Error` for unknown names, with the nearest one.
const ScheduleFormat& schedule_format(std::string_view name, std::string_view path);

/// Reads a schedule in the format `format` (empty: by extension). "-" is standard input.
Schedule read_schedule(const std::string& path, std::string_view format = {});

}  // namespace plumb
