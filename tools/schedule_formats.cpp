#include "tools/schedule_formats.hpp"

#include <array>
#include <vector>

#include "models/error.hpp"
#include "models/text_file.hpp"
#include "schedules/schedule_io.hpp"
#include "tools/arguments.hpp"

namespace plumb {
namespace {

/// Whether `cell` is the update that ends a document of one update. Other updates say more than text can.
bool is_only_update(std::string_view cell, const std::string& where) {
  const std::size_t letter = cell.find('U');
  if (letter == std::string_view::npos || cell.find_first_not_of("0123456789") != letter) return false;
  if (cell.substr(letter) == "U0") return true;
  throw Error(where + ": '" + std::string(cell) + "' is a later update, expected one update (JSON has several)");
}

/// Text is PyTorch CSV with other separators, a name before each line and the update at its end, so one parser reads
/// both.
Schedule schedule_from_text(std::string_view text, std::string_view file_name) {
  std::string csv;
  const std::vector<std::string> lines = split(text.substr(0, text.find_last_not_of('\n') + 1), '\n');
  for (std::size_t device = 0; device < lines.size(); ++device) {
    const std::string where = std::string(file_name) + ":" + std::to_string(device + 1);
    std::vector<std::string> cells = split(lines[device], ' ');
    const std::string name = "d" + std::to_string(device) + ":";
    if (cells.empty() || cells.front() != name) throw Error(where + ": expected the line to begin with '" + name + "'");
    if (device > 0) csv += '\n';
    for (std::size_t i = 1; i < cells.size(); ++i) {
      if (!is_only_update(cells[i], where)) csv += (i > 1 ? "," : "") + cells[i];
    }
  }
  return schedule_from_torch_csv(csv, file_name);
}

constexpr std::array kFormats{
    ScheduleFormat{"json", ".json", schedule_from_json, schedule_to_json},
    ScheduleFormat{"torch-csv", ".csv", schedule_from_torch_csv, schedule_to_torch_csv},
    ScheduleFormat{"text", ".txt", schedule_from_text, schedule_to_text},
};

}  // namespace

std::span<const ScheduleFormat> schedule_formats() { return kFormats; }

const ScheduleFormat& schedule_format(std::string_view name, std::string_view path) {
  std::vector<std::string_view> names;
  for (const ScheduleFormat& format : kFormats) {
    if (name.empty() ? path.ends_with(format.extension) : name == format.name) return format;
    names.push_back(format.name);
  }
  if (name.empty()) return kFormats.front();
  throw_unknown("schedule format", name, names);
}

Schedule read_schedule(const std::string& path, std::string_view format) {
  const ScheduleFormat& chosen = schedule_format(format, path);
  if (path == "-") return chosen.read(read_text_file("/dev/stdin"), "standard input");
  return chosen.read(read_text_file(path), path);
}

}  // namespace plumb
