#include "tools/formats/schedule_formats.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <variant>
#include <vector>

#include "models/ground/error.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/formats/megatron.hpp"
#include "schedules/formats/torch_lowering.hpp"
#include "schedules/formats/zero_bubble_table.hpp"
#include "tools/formats/file_nature.hpp"
#include "tools/terminal/notes.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

/// What the format cannot hold is said before anything is added for it.
Schedule lowered(const Schedule& schedule) {
  check_torch_writable(schedule);
  return torch_lowered(schedule);
}

Schedule lowered_late(const Schedule& schedule) {
  check_torch_writable(schedule);
  return torch_lowered(schedule, {.late_receives = true});
}

// Measured with zb-h1 (3 million actions on 512 devices) and gpipe (8 million on 4); text and tables take 8 to 16 bytes
// for each action, and up to twice that while they grow.
constexpr double kTextBytes = 12;
constexpr double kTableBytes = 16;
constexpr double kCommsBytes = 150;  ///< the list with sends and receives, three times as long
constexpr double kCommsSeconds = 5e-6;

constexpr std::array kScheduleFormats{
    ScheduleFormat{"json", ".json", schedule_from_json, schedule_to_json},
    ScheduleFormat{"torch-csv", ".csv", schedule_from_torch_csv, schedule_to_torch_csv, nullptr, kTextBytes},
    ScheduleFormat{"torch-comms", "", schedule_from_torch_csv, schedule_to_torch_comms_csv, lowered, kCommsBytes,
                   kCommsSeconds},
    ScheduleFormat{"torch-comms-late", "", schedule_from_torch_csv, schedule_to_torch_comms_csv, lowered_late,
                   kCommsBytes, kCommsSeconds},
    ScheduleFormat{"text", ".txt", schedule_from_text, schedule_to_text, nullptr, kTextBytes},
    ScheduleFormat{"zero-bubble", "", schedule_from_zero_bubble_table, schedule_to_zero_bubble_table, nullptr,
                   kTableBytes},
    ScheduleFormat{"megatron", ".megatron", schedule_from_megatron_options, schedule_to_megatron_options},
    ScheduleFormat{"deepspeed", ".deepspeed", schedule_from_deepspeed},
};

bool is_picture(std::string_view extension) {
  constexpr std::array<std::string_view, 5> kPictures{".svg", ".png", ".pdf", ".html", ".tex"};
  return std::ranges::find(kPictures, extension) != kPictures.end();
}

/// The format of a text without a name.
const ScheduleFormat& format_of(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const std::string_view begin = first == std::string_view::npos ? text : text.substr(first);
  const auto named = [](std::string_view name) -> const ScheduleFormat& { return schedule_format(name, {}); };
  if (begin.starts_with('{')) return named("json");
  if (begin.starts_with("d0") || begin.starts_with("name:")) return named("text");
  const auto says = [&](std::string_view words) { return begin.find(words) != std::string_view::npos; };
  if (says("SCHEDULE =")) return named("zero-bubble");
  if (says("--pipeline-model-parallel-size")) return named("megatron");
  return named(says("ForwardPass") ? "deepspeed" : "torch-csv");
}

/// Reads `text`; a translation of old letters in a CSV is noted on standard error.
Schedule read_as(const ScheduleFormat& format, std::string_view text, std::string_view name) {
  Schedule schedule = format.read(text, name);
  const auto letters = schedule.parameters.find("letters");
  if (format.read == schedule_from_torch_csv && letters != schedule.parameters.end()) {
    note(std::string(name) + ": old action letters were translated: " + std::get<std::string>(letters->second));
  }
  return schedule;
}

}  // namespace

std::span<const ScheduleFormat> schedule_formats() { return kScheduleFormats; }

std::vector<std::string_view> schedule_format_names() {
  std::vector<std::string_view> names;
  for (const ScheduleFormat& format : kScheduleFormats) names.push_back(format.name);
  return names;
}

const ScheduleFormat& schedule_format(std::string_view name, std::string_view path) {
  for (const ScheduleFormat& format : kScheduleFormats) {
    const bool by_path = !format.extension.empty() && path.ends_with(format.extension);
    if (name.empty() ? by_path : name == format.name) return format;
  }
  if (name.empty()) return kScheduleFormats.front();
  throw_unknown("schedule format", name, schedule_format_names());
}

void check_extension(std::string_view path, std::string_view option) {
  const std::string extension = std::filesystem::path(path).extension().string();
  std::string known;
  for (const ScheduleFormat& format : kScheduleFormats) {
    if (extension.empty() || extension == format.extension) return;
    if (!format.extension.empty() && format.write != nullptr) known += " " + std::string(format.extension);
  }
  throw Error(std::string(path) + ": no format has the extension '" + extension + "', expected " + std::string(option) +
              " FORMAT or one of" + known +
              (is_picture(extension) ? "; pictures are made by `plumbline simulate`" : ""));
}

void check_document_extension(std::string_view path, std::string_view option) {
  const std::string extension = std::filesystem::path(path).extension().string();
  if (extension.empty() || extension == kScheduleFormats.front().extension) return;
  throw Error(std::string(path) + ": " + std::string(option) +
              " writes a schedule document, expected the extension .json (convert writes other formats)");
}

const ScheduleFormat& written_format(std::string_view name, std::string_view path) {
  const ScheduleFormat& format = schedule_format(name, path);
  if (format.write == nullptr) {
    throw Error("format '" + std::string(format.name) +
                "' can only be read, expected json, torch-csv or another format to write");
  }
  return format;
}

Schedule schedule_from_text_of_any_format(std::string_view text, std::string_view name) {
  return read_as(format_of(text), text, name);
}

Schedule read_schedule(const std::string& path, std::string_view format) {
  const bool is_input = path == "-";
  const std::string text = read_named_input(path, kScheduleFile);
  const std::string name = is_input ? "standard input" : path;
  refuse_no_schedule(text, name);
  const auto ends_in = [&](const ScheduleFormat& known) {
    return !known.extension.empty() && path.ends_with(known.extension);
  };
  if (format.empty() && std::ranges::none_of(kScheduleFormats, ends_in))
    return schedule_from_text_of_any_format(text, name);
  return read_as(schedule_format(format, path), text, name);
}

}  // namespace plumb
