#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "models/ground/error.hpp"
#include "models/ground/json_reader.hpp"
#include "schedules/document/action_text.hpp"
#include "schedules/document/document_limits.hpp"
#include "schedules/document/json_fields.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/document/text_defaults.hpp"

namespace plumb {
namespace {

constexpr std::array<std::string_view, 16> kTextKeys{
    "name",        "parameters",  "num_stages", "num_microbatches", "microbatches_per_update", "mode",
    "placement",   "weights",     "slices",     "recompute",        "reduce_groups",           "microbatch_sizes",
    "stage_edges", "extra_edges", "vocabulary", "start_together"};
constexpr std::string_view kExtras = "extras";

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/// After so many mistakes the rest of a file tells nothing new.
constexpr std::size_t kMostMistakes = 50;

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

/// The number in "d12"; -1 where `key` is something else.
std::int64_t device_number(std::string_view key) {
  std::int64_t number = -1;
  if (!key.starts_with('d')) return number;
  const auto [end, error] = std::from_chars(key.data() + 1, key.data() + key.size(), number);
  return error == std::errc{} && end == key.data() + key.size() ? number : -1;
}

/// Reads line by line: comments, `key: JSON`, and the list of each device, also as a row of a drawing. Goes on after a
/// mistake, so that all are told at once.
class TextReader {
 public:
  TextReader(std::string_view text, std::string_view file_name) : text_(text), file_name_(file_name) {}

  Schedule read() {
    schedule_.name = std::filesystem::path(file_name_).stem().string();
    while (!text_.empty()) {
      const std::size_t end = std::min(text_.find('\n'), text_.size());
      ++line_;
      full_line_ = text_.substr(0, end);
      read_line(full_line_);
      text_.remove_prefix(std::min(end + 1, text_.size()));
    }
    if (mistakes_.empty() && schedule_.devices.empty()) fail("has no line of a device; expected 'd0: 0F0 0B0'");
    if (!mistakes_.empty()) refuse();
    return with_fields();
  }

 private:
  /// A value of the document and the line that gives it.
  struct Field {
    std::size_t line = 0;
    std::string_view json;
  };

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(file_name_ + ":" + std::to_string(line_) + ": " + what);
  }

  /// Where lines of the document change the rules, the lists alone say nothing about their order.
  [[noreturn]] void refuse() {
    const bool known = !fields_.contains("stage_edges") && !fields_.contains("slices");
    if (schedule_.devices.empty() || !known) throw Errors(mistakes_);
    fill_text_defaults(schedule_);
    throw PartlyRead(mistakes_, std::move(schedule_), std::move(device_lines_));
  }

  /// Notes a mistake in `part` of the line.
  void note(std::string_view part, const std::string& what) {
    const std::size_t column = static_cast<std::size_t>(part.data() - full_line_.data()) + 1;
    mistakes_.push_back(file_name_ + ":" + std::to_string(line_) + ":" + std::to_string(column) + ": " + what);
    if (mistakes_.size() == kMostMistakes) throw Errors(mistakes_);
  }

  void read_line(std::string_view line) {
    line = without_blanks(line);
    if (line.empty() || line.front() == '#') return;
    const std::size_t end = std::min(line.find_first_of(":|"), line.size());
    const std::string_view key = without_blanks(line.substr(0, end));
    const char mark = end == line.size() ? '\0' : line[end];
    if (mark == ':' && (key == kExtras || std::ranges::find(kTextKeys, key) != kTextKeys.end())) {
      return read_field(key, line.substr(end + 1));
    }
    const std::string expected = "d" + std::to_string(device_ + 1);
    const std::int64_t device = mark == '\0' ? -1 : device_number(key);
    if (device >= 0) {
      const bool goes_on = drawn_ && mark == '|' && device == 0;  // the drawing is in several bands
      if (device != device_ + 1 && !goes_on) note(key, "expected '" + expected + ":'");
      if (std::ssize(schedule_.devices) == kMostDocumentDevices) {
        fail("expected at most " + std::to_string(kMostDocumentDevices) + " devices");
      }
      device_ = device;
      const bool is_known = drawn_ && mark == '|' && device < std::ssize(schedule_.devices);
      drawn_ = mark == '|';
      newest_ = is_known ? static_cast<std::size_t>(device) : schedule_.devices.size();
      if (!is_known) {
        schedule_.devices.emplace_back();
        device_lines_.push_back(line_);
      }
      return read_list(line.substr(end + 1));
    }
    const bool is_axis = line.find_first_not_of("0123456789. mnsµ") == std::string_view::npos;
    if (drawn_ && (is_axis || line.starts_with("0 "))) return;
    if (drawn_ && line.starts_with("...")) {
      return note(line, "the drawing does not show all devices; expected a line '" + expected + ": ...'");
    }
    note(line,
         "expected '" + expected + ":' with the actions of the device, 'key: value' of the document, or a comment");
  }

  void read_field(std::string_view key, std::string_view json) {
    try {
      check_json(json);
    } catch (const Error& error) {
      mistakes_.emplace_back(error.what());
    }
    if (!fields_.try_emplace(std::string(key), Field{line_, json}).second) {
      note(key, "'" + std::string(key) + "' is given twice");
    }
  }

  /// One JSON value and nothing after it. Its messages have our line.
  void check_json(std::string_view json) const {
    const JsonDocument value(std::string(line_ - 1, '\n') + std::string(json), file_name_);
  }

  /// The items of the newest device.
  void read_list(std::string_view items) {
    for (;;) {
      items = without_blanks(items);
      if (items.empty() || items.front() == '#') return;
      const auto end = static_cast<std::size_t>(std::find_if(items.begin(), items.end(), is_blank) - items.begin());
      read_one(items.substr(0, end));
      items.remove_prefix(end);
    }
  }

  /// The item that a short form stands for: an action without a stage is of the stage of the
  /// device's number; `a&b` is an overlapped pair.
  std::string full_item(std::string_view item) const {
    const auto with_stage = [&](std::string_view action) {
      const bool has_stage = action.empty() || action.front() < 'A' || action.front() > 'Z';
      return (has_stage ? std::string() : std::to_string(device_)) + std::string(action);
    };
    const std::size_t both = item.find('&');
    if (both == std::string_view::npos) return with_stage(item);
    return "(" + with_stage(item.substr(0, both)) + ";" + with_stage(item.substr(both + 1)) + ")OVERLAP";
  }

  void read_one(std::string_view item) {
    if (drawn_ && item.ends_with("...")) return note(item, "the drawing is cut; expected one that shows all columns");
    std::string_view action = item;
    if (drawn_) action = action.substr(0, action.find_first_of("=|"));
    if (drawn_ && action.empty()) return;
    const std::string full = full_item(action);
    auto& actions = schedule_.devices[newest_].actions;
    const std::size_t first = actions.size();
    const std::string_view expected = read_item(full, actions);
    if (!expected.empty()) note(item, "'" + std::string(item) + "': expected " + std::string(expected));
    const auto out_of_range = [](const Action& one) {
      return static_cast<std::int32_t>(one.stage) >= kMostDocumentStages;
    };
    if (std::find_if(actions.begin() + static_cast<std::ptrdiff_t>(first), actions.end(), out_of_range) ==
        actions.end()) {
      return;
    }
    note(item, "'" + std::string(item) + "': expected a stage below " + std::to_string(kMostDocumentStages));
    actions.resize(first);  // what refuses the item does not reckon with it either
  }

  /// What the lists tell, overridden by what the lines give: as a JSON document in which each value stands on the line
  /// on which it was given, so that messages name it.
  Schedule with_fields() {
    fill_text_defaults(schedule_);
    if (schedule_.placement.empty() && !fields_.contains("placement")) {
      fail("the lists do not tell which devices hold which stage; expected a line 'placement: [[[0], [1]]]'");
    }
    std::string json = R"({"format": "plumbline-schedule", "version": 1, "devices": [)";
    for (std::size_t device = 0; device < schedule_.devices.size(); ++device) json += device == 0 ? "[]" : ",[]";
    json += ']';
    for (const auto& [name, value] : json_fields(schedule_)) {
      if (!fields_.contains(name)) json += ",\"" + name + "\": " + value;
    }
    std::map<std::size_t, std::string> by_line;
    for (const auto& [name, field] : fields_) {
      by_line[field.line] = ",\"" + name + "\":" + std::string(field.json);
    }
    std::size_t line = 1;
    for (const auto& [wanted, member] : by_line) {
      for (; line < wanted; ++line) json += '\n';
      json += member;
    }
    Schedule schedule = schedule_from_json(json + '}', file_name_);
    schedule.devices = std::move(schedule_.devices);
    return schedule;
  }

  std::string_view text_;
  std::string file_name_;
  std::size_t line_ = 0;
  std::string_view full_line_;
  std::int64_t device_ = -1;  ///< the number of the newest device
  std::size_t newest_ = 0;    ///< its list
  bool drawn_ = false;        ///< the newest device's list is a row of a drawing
  std::vector<std::size_t> device_lines_;
  std::vector<std::string> mistakes_;
  std::map<std::string, Field> fields_;
  Schedule schedule_;
};

}  // namespace

Schedule schedule_from_text(std::string_view text, std::string_view file_name) {
  return TextReader(text, file_name).read();
}

}  // namespace plumb
