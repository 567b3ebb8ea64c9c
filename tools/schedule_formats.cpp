#include "tools/schedule_formats.hpp"

#include <array>
#include <vector>

#include "models/error.hpp"
#include "models/text_file.hpp"
#include "schedules/schedule_io.hpp"

namespace plumb {
namespace {

/// Text is PyTorch CSV with other separators and a name before each line, so one parser reads both.
Schedule schedule_from_text(std::string_view text, std::string_view file_name) {
  std::string csv;
  int device = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string name = "d" + std::to_string(device) + ":";
    if (!line.starts_with(name)) {
      throw Error(std::string(file_name) + ":" + std::to_string(device + 1) + ": expected the line to begin with '" +
                  name + "'");
    }
    line.remove_prefix(name.size());
    if (line.starts_with(' ')) line.remove_prefix(1);
    if (device++ > 0) csv += '\n';
    for (const char c : line) csv += c == ' ' ? ',' : c;
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
