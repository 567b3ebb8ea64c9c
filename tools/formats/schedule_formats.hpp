#pragma once

#include <span>
#include <string>
#include <string_view>

#include "schedules/document/schedule.hpp"

namespace plumb {

/// One row of the table of schedule formats.
struct ScheduleFormat {
  std::string_view name;       ///< as in `--format`
  std::string_view extension;  ///< of its files; empty: chosen by name only
  Schedule (*read)(std::string_view text, std::string_view file_name) = nullptr;
  std::string (*write)(const Schedule& schedule) = nullptr;  ///< none: read only
  Schedule (*lower)(const Schedule& schedule) = nullptr;     ///< what is done to a valid schedule before it is written
};

std::span<const ScheduleFormat> schedule_formats();

/// The format called `name`, or, when `name` is empty, the one that `path` ends in; JSON when it ends in none.
/// Throws `Error` for unknown names, with the nearest one.
const ScheduleFormat& schedule_format(std::string_view name, std::string_view path);

/// Throws `Error` when `path` ends in an extension that no format has; `option` names the format otherwise.
void check_extension(std::string_view path, std::string_view option);

/// Throws `Error` when `path` ends in an extension, and that is not the one of schedule documents.
void check_document_extension(std::string_view path, std::string_view option);

/// `schedule_format` of something to be written. Throws `Error` for formats that are only read.
const ScheduleFormat& written_format(std::string_view name, std::string_view path);

/// Reads a schedule in the format `format` (empty: by extension, then by how it begins). "-" is standard input. A
/// translation that the reader should know about is told on standard error.
Schedule read_schedule(const std::string& path, std::string_view format = {});

/// The schedule that `text` is, its format told by how it begins.
Schedule schedule_from_text_of_any_format(std::string_view text, std::string_view name);

}  // namespace plumb
