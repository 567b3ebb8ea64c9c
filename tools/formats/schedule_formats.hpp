#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/document/schedule.hpp"

namespace plumb {

/// One row of the table of schedule formats.
struct ScheduleFormat {
  std::string_view name;       ///< as in `--format`
  std::string_view extension;  ///< of its files; empty: chosen by name only
  Schedule (*read)(std::string_view text, std::string_view file_name) = nullptr;
  std::string (*write)(const Schedule& schedule) = nullptr;  ///< none: read only
  Schedule (*lower)(const Schedule& schedule) = nullptr;     ///< what is done to a valid schedule before it is written
  double bytes_each = 0;       ///< of memory for each action while it is written; 0: repeats stay folded
  double seconds_each = 5e-8;  ///< likewise
};

std::span<const ScheduleFormat> schedule_formats();
/// Their names.
std::vector<std::string_view> schedule_format_names();

/// The format called `name`; when `name` is empty, the one of the extension of `path`, or JSON without an extension.
/// Throws `Error` for unknown names, with the nearest one.
const ScheduleFormat& schedule_format(std::string_view name, std::string_view path);

/// Throws `Error` when the extension of `path` belongs to no format; the message names `option`, which can give it.
void check_extension(std::string_view path, std::string_view option);

/// Throws `Error` when `path` has an extension other than that of schedule documents.
void check_document_extension(std::string_view path, std::string_view option);

/// `schedule_format` for writing. Throws `Error` for formats that can only be read.
const ScheduleFormat& written_format(std::string_view name, std::string_view path);

/// Reads a schedule in the format `format` (empty: by extension, then by how it begins). "-" is standard input. A
/// translation that the user should know about is noted (tools/terminal/notes.hpp).
Schedule read_schedule(const std::string& path, std::string_view format = {});

/// The schedule in `text`; its first characters tell the format.
Schedule schedule_from_text_of_any_format(std::string_view text, std::string_view name);

}  // namespace plumb
