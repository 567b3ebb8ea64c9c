#include "models/import/config_reader.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kMostSize = std::int64_t{1} << 24;
constexpr std::int64_t kMostConfigLayers = 1000;

}  // namespace

std::int64_t ConfigReader::size(std::string_view key) const {
  read_.emplace(key);
  return root_.at(key).integer(1, kMostSize);
}

std::int64_t ConfigReader::layers(std::string_view key) const {
  read_.emplace(key);
  return root_.at(key).integer(1, kMostConfigLayers);
}

std::int64_t ConfigReader::size(std::string_view key, std::int64_t otherwise) const {
  const std::optional<JsonValue> value = given(key);
  return value ? value->integer(0, kMostSize) : otherwise;
}

bool ConfigReader::flag(std::string_view key, bool otherwise) const {
  const std::optional<JsonValue> value = given(key);
  return value ? value->boolean() : otherwise;
}

double ConfigReader::real(std::string_view key, double otherwise) const {
  const std::optional<JsonValue> value = given(key);
  return value ? value->number() : otherwise;
}

std::string ConfigReader::text(std::string_view key, std::string_view otherwise) const {
  const std::optional<JsonValue> value = given(key);
  return std::string(value ? value->text() : otherwise);
}

std::vector<std::int64_t> ConfigReader::list(std::string_view key) const {
  std::vector<std::int64_t> numbers;
  if (const std::optional<JsonValue> value = given(key)) {
    for (const JsonValue& one : value->elements()) numbers.push_back(one.integer());
  }
  return numbers;
}

std::optional<JsonValue> ConfigReader::given(std::string_view key) const {
  read_.emplace(key);
  const auto value = root_.find(key);
  return value && value->kind() != JsonValue::Kind::kNull ? value : std::nullopt;
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
