#include "models/launches/config_settings.hpp"

#include <utility>

#include "models/ground/error.hpp"
#include "models/ground/json_reader.hpp"

#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>
#undef TOML_ENABLE_FORMATTERS

namespace plumb {
namespace {

constexpr std::size_t kMostValues = 100'000;
constexpr int kDeepestTables = 64;

/// Collects values on the way through nested tables.
class ConfigWalk {
 public:
  ConfigWalk(const std::string& name) : settings_(name) {}

  void toml(const toml::node& node, const std::string& path, int depth) {
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

  void json(const JsonValue& value, const std::string& path, int depth) {
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
  static std::string joined(const std::string& path, std::string_view key) {
    return path.empty() ? setting_name(key) : path + "." + setting_name(key);
  }

  void check(int depth) {
    if (depth > kDeepestTables || ++count_ > kMostValues) {
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

  /// The texts of a list in a list, with commas between them.
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
  std::size_t count_ = 0;
};

}  // namespace

Settings settings_of_toml(std::string_view text, const std::string& name) {
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
