#include "models/import/config_reader.hpp"

#include <functional>

namespace plumb {
namespace {

constexpr std::int64_t kMostSize = std::int64_t{1} << 24;
constexpr std::int64_t kMostConfigLayers = 1000;

bool says_something(const std::optional<JsonValue>& value) { return value && value->kind() != JsonValue::Kind::kNull; }

}  // namespace

std::int64_t ConfigReader::size(const ConfigKeys& keys) const {
  const std::optional<JsonValue> value = given(keys);
  return value ? value->integer(1, kMostSize) : root_.at(keys.names.front()).integer(1, kMostSize);
}

std::int64_t ConfigReader::layers(const ConfigKeys& keys) const {
  const std::optional<JsonValue> value = given(keys);
  return value ? value->integer(1, kMostConfigLayers) : root_.at(keys.names.front()).integer(1, kMostConfigLayers);
}

std::int64_t ConfigReader::size(const ConfigKeys& keys, std::int64_t otherwise) const {
  const std::optional<JsonValue> value = given(keys);
  return value ? value->integer(0, kMostSize) : otherwise;
}

bool ConfigReader::flag(const ConfigKeys& keys, bool otherwise) const {
  const std::optional<JsonValue> value = given(keys);
  return value ? value->boolean() : otherwise;
}

double ConfigReader::real(const ConfigKeys& keys, double otherwise) const {
  const std::optional<JsonValue> value = given(keys);
  return value ? value->number() : otherwise;
}

std::string ConfigReader::text(const ConfigKeys& keys, std::string_view otherwise) const {
  const std::optional<JsonValue> value = given(keys);
  return std::string(value ? value->text() : otherwise);
}

std::vector<std::int64_t> ConfigReader::list(const ConfigKeys& keys) const {
  std::vector<std::int64_t> numbers;
  if (const std::optional<JsonValue> value = given(keys)) {
    for (const JsonValue& one : value->elements()) numbers.push_back(one.integer());
  }
  return numbers;
}

std::optional<ConfigReader::Found> ConfigReader::find(const ConfigKeys& keys) const {
  for (const std::string_view key : keys.names) read_.emplace(key);
  for (const std::string_view key : keys.names) {
    if (const auto value = root_.find(key); says_something(value)) return Found{key, *value};
  }
  for (const std::string_view key : keys.names) {
    if (root_.find(key)) continue;  // null in the file: the class's default does not count
    if (const auto value = defaults_.find(key); says_something(value)) return Found{key, *value};
  }
  return std::nullopt;
}

std::optional<JsonValue> ConfigReader::given(const ConfigKeys& keys) const {
  const std::optional<Found> found = find(keys);
  return found ? std::optional(found->value) : std::nullopt;
}

void ConfigReader::fail(std::string_view key, const std::string& message) const {
  if (const auto value = root_.find(key)) value->fail(message);
  root_.fail(message);
}

std::vector<std::string> ConfigReader::unread(const std::set<std::string_view>& harmless) const {
  std::vector<std::string> keys;
  for (const JsonValue::Member& member : root_.members()) {
    const bool said = member.value.kind() != JsonValue::Kind::kNull;
    if (said && !read_.contains(member.key) && !harmless.contains(member.key)) keys.emplace_back(member.key);
  }
  return keys;
}

}  // namespace plumb
