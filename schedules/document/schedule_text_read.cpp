#include <algorithm>
#include <array>
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

constexpr std::array<std::string_view, 15> kTextKeys{
    "name",          "parameters",       "num_stages",  "num_microbatches", "microbatches_per_update",
    "mode",          "placement",        "weights",     "slices",           "recompute",
    "reduce_groups", "microbatch_sizes", "stage_edges", "extra_edges",      "vocabulary"};
constexpr std::string_view kExtras = "extras";

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/// Reads line by line: comments, `key: JSON`, and the list of each device.
class TextReader {
 public:
  TextReader(std::string_view text, std::string_view file_name) : text_(text), file_name_(file_name) {}

  Schedule read() {
    schedule_.name = std::filesystem::path(file_name_).stem().string();
    while (!text_.empty()) {
      const std::size_t end = std::min(text_.find('\n'), text_.size());
      ++line_;
      read_line(text_.substr(0, end));
      text_.remove_prefix(std::min(end + 1, text_.size()));
    }
    if (schedule_.devices.empty()) fail("has no line of a device; expected 'd0: 0F0 0B0'");
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

  void read_line(std::string_view line) {
    while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
    if (line.empty() || line.front() == '#') return;
    const std::size_t colon = line.find(':');
    const std::string_view key = line.substr(0, colon);
    if (colon != std::string_view::npos && (key == kExtras || std::ranges::find(kTextKeys, key) != kTextKeys.end())) {
      check_json(line.substr(colon + 1));
      if (!fields_.try_emplace(std::string(key), Field{line_, line.substr(colon + 1)}).second) {
        fail("'" + std::string(key) + "' is given twice");
      }
      return;
    }
    const std::string expected = "d" + std::to_string(schedule_.devices.size());
    if (key != expected || colon == std::string_view::npos) {
      fail("expected '" + expected + ":' with the actions of the device, 'key: value' of the document, or a comment");
    }
    if (std::ssize(schedule_.devices) == kMostDocumentDevices) {
      fail("expected at most " + std::to_string(kMostDocumentDevices) + " devices");
    }
    schedule_.devices.emplace_back();
    read_list(line.substr(colon + 1), schedule_.devices.back().actions);
  }

  /// One JSON value and nothing after it. Its messages have our line.
  void check_json(std::string_view json) const {
    const JsonDocument value(std::string(line_ - 1, '\n') + std::string(json), file_name_);
  }

  void read_list(std::string_view items, std::vector<Action>& actions) const {
    for (;;) {
      while (!items.empty() && is_blank(items.front())) items.remove_prefix(1);
      if (items.empty() || items.front() == '#') return;
      const auto end = static_cast<std::size_t>(std::find_if(items.begin(), items.end(), is_blank) - items.begin());
      const std::string_view item = items.substr(0, end);
      const std::size_t first = actions.size();
      const std::string_view expected = read_item(item, actions);
      if (!expected.empty()) fail("'" + std::string(item) + "': expected " + std::string(expected));
      for (std::size_t at = first; at < actions.size(); ++at) {
        if (static_cast<std::int32_t>(actions[at].stage) < kMostDocumentStages) continue;
        fail("'" + std::string(item) + "': expected a stage below " + std::to_string(kMostDocumentStages));
      }
      items.remove_prefix(end);
    }
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
  std::map<std::string, Field> fields_;
  Schedule schedule_;
};

}  // namespace

Schedule schedule_from_text(std::string_view text, std::string_view file_name) {
  return TextReader(text, file_name).read();
}

}  // namespace plumb
