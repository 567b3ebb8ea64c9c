#include "tools/schedule_formats.hpp"

#include <array>
#include <vector>

#include "models/error.hpp"
#include "models/text_file.hpp"
#include "schedules/schedule_io.hpp"

namespace plumb {
namespace {

constexpr std::array kFormats{
    ScheduleFormat{"json", ".json", schedule_from_json, schedule_to_json},
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
