#include "models/launches/config_settings.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "models/ground/json_reader.hpp"
#include "models/ground/reader_limits.hpp"

#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>
#undef TOML_ENABLE_FORMATTERS

namespace plumb {
namespace {

/// Refuses keys of many parts and deep brackets before toml++ reads a text: up to version 3.3 it makes, visits and
/// frees nested tables by recursion without a bound.
///
/// Every bracket that is open, and every dot since the last comma or line in it, may open a table. Dots of numbers
/// count, too; lists reset them at each comma.
class TomlDepth {
 public:
  TomlDepth(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  void check() {
    while (at_ < text_.size()) step();
  }

 private:
  void step() {
    const char letter = text_[at_];
    if (letter == '"' || letter == '\'') return skip_string(letter);
    if (letter == '#') return skip_to(text_.find('\n', at_));
    ++at_;
    if (letter == '\n') ++line_;
    if (letter == ',' || (letter == '\n' && parts_.size() == 1)) {
      total_ -= std::exchange(parts_.back(), 0);
    } else if (letter == '.') {
      ++parts_.back();
      ++total_;
    } else if (letter == '[' || letter == '{') {
      parts_.push_back(1);
      ++total_;
    } else if ((letter == ']' || letter == '}') && parts_.size() > 1) {
      total_ -= parts_.back();
      parts_.pop_back();
    }
    if (total_ < kTomlParts.most) return;
    throw Error(name_ + ":" + std::to_string(line_) + ": nested too deeply, expected at most " +
                std::to_string(kTomlParts.most) + " parts of a name and brackets in each other");
  }

  /// A string ends where its quotes come again, one that begins with one quote at the end of its line at the latest.
  void skip_string(char quote) {
    const std::string three(3, quote);
    const bool is_long = text_.substr(at_).starts_with(three);
    at_ += is_long ? 3 : 1;
    while (at_ < text_.size()) {
      if (is_long ? text_.substr(at_).starts_with(three) : text_[at_] == quote) {
        at_ += is_long ? 3 : 1;
        return;
      }
      if (text_[at_] == '\n' && !is_long) return;
      if (text_[at_] == '\n') ++line_;
      at_ += quote == '"' && text_[at_] == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] != '\n' ? 2 : 1;
    }
  }

  void skip_to(std::size_t at) { at_ = std::min(at, text_.size()); }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::uint64_t total_ = 0;
  std::vector<std::uint64_t> parts_{0};  ///< by open bracket
};

/// Collects values on the way through nested tables.
class ConfigWalk {
 public:
  ConfigWalk(const std::string& name) : settings_(name) {}

  void toml(const toml::node& node, const std::string& path, std::uint64_t depth) {
    check(depth);
    if (const toml::table* table = node.as_table()) {
      for (const auto& [key, value] : *table) toml(value, joined(path, key.str()), depth + 1);
      return;
    }
    Setting setting{{}, settings_.source() + ":" + std::to_string(node.source().begin.line)};
    if (const toml::array* array = node.as_array()) {
      for (const toml::node& value : *array) setting.values.push_back(text_of(value));
    } else {
      setting.values.push_back(text_of(node));
    }
    settings_.set(path, std::move(setting));
  }

  void json(const JsonValue& value, const std::string& path, std::uint64_t depth) {
    check(depth);
    if (value.is_object()) {
      for (const JsonValue::Member& member : value.members()) json(member.value, joined(path, member.key), depth + 1);
      return;
    }
    const std::string where = value.where();
    Setting setting{{}, where.substr(0, where.find(": "))};
    if (value.is_array()) {
      for (const JsonValue& one : value.elements()) setting.values.push_back(text_of(one));
    } else {
      setting.values.push_back(text_of(value));
    }
    settings_.set(path, std::move(setting));
  }

  Settings take() { return std::move(settings_); }

 private:
  std::string joined(const std::string& path, std::string_view key) const {
    if (path.size() + key.size() > kConfigName.most) {  // every value repeats the names of its tables
      throw Error(settings_.source() + ": expected names of at most " + std::to_string(kConfigName.most) +
                  " bytes, with those of their tables");
    }
    return path.empty() ? setting_name(key) : path + "." + setting_name(key);
  }

  void check(std::uint64_t depth) {
    if (depth > kConfigLevels.most || ++count_ > kConfigValues.most) {
      throw Error(settings_.source() + ": expected a configuration of fewer tables and values");
    }
  }

  static std::string text_of(const toml::node& node) {
    if (const auto text = node.value<std::string>()) return *text;
    if (node.is_boolean()) return *node.value<bool>() ? "true" : "false";
    if (node.is_integer()) return std::to_string(*node.value<std::int64_t>());
    if (node.is_floating_point()) return std::to_string(*node.value<double>());
    const toml::array* list = node.as_array();
    return list != nullptr ? joined_texts(*list) : "[...]";
  }

  /// Returns the texts of a list in a list, with commas between them.
  static std::string joined_texts(const toml::array& list) {
    std::string text;
    for (const toml::node& one : list) {
      const auto word = one.value<std::string>();
      if (!word) return "[...]";
      text += (text.empty() ? "" : ",") + *word;
    }
    return text;
  }

  static std::string text_of(const JsonValue& value) {
    switch (value.kind()) {
      case JsonValue::Kind::kString:
        return std::string(value.text());
      case JsonValue::Kind::kBoolean:
        return value.boolean() ? "true" : "false";
      case JsonValue::Kind::kInteger:
        return std::to_string(value.integer());
      case JsonValue::Kind::kNumber:
        return std::to_string(value.number());
      case JsonValue::Kind::kNull:
        return "null";
      default:
        return "[...]";
    }
  }

  Settings settings_;
  std::uint64_t count_ = 0;
};

}  // namespace

Settings settings_of_toml(std::string_view text, const std::string& name) {
  if (text.size() > kTomlText.most) throw Error(name + ": expected a configuration of at most 4 MiB");
  TomlDepth(text, name).check();
  try {
    const toml::table table = toml::parse(text);
    ConfigWalk walk(name);
    walk.toml(table, "", 0);
    return walk.take();
  } catch (const toml::parse_error& error) {
    throw Error(name + ":" + std::to_string(error.source().begin.line) + ":" +
                std::to_string(error.source().begin.column) + ": " + std::string(error.description()));
  }
}

Settings settings_of_json(std::string_view text, const std::string& name) {
  const JsonDocument document{std::string(text), name};
  if (!document.root().is_object()) document.root().fail_expected("an object");
  ConfigWalk walk(name);
  walk.json(document.root(), "", 0);
  return walk.take();
}

}  // namespace plumb
