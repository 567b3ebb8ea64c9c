#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "models/ground/json_reader.hpp"

namespace plumb {

/// Typed access to a configuration of Hugging Face, whose keys may be missing or null. It remembers which were asked
/// for, so that what nobody reads can be named. Every failure throws `Error` with the place of the value.
class ConfigReader {
 public:
  explicit ConfigReader(const JsonValue& root) : root_(root) {}

  /// Returns a size that must be there.
  std::int64_t size(std::string_view key) const;
  /// Returns a number of layers that must be there.
  std::int64_t layers(std::string_view key) const;
  std::int64_t size(std::string_view key, std::int64_t otherwise) const;
  bool flag(std::string_view key, bool otherwise) const;
  double real(std::string_view key, double otherwise) const;
  std::string text(std::string_view key, std::string_view otherwise) const;
  /// Empty when it is not there.
  std::vector<std::int64_t> list(std::string_view key) const;

  /// Returns the value of `key`; none when it is missing or null.
  std::optional<JsonValue> given(std::string_view key) const;
  /// Returns whether the key is there, even with null as its value.
  bool has(std::string_view key) const { return root_.find(key).has_value(); }
  [[noreturn]] void fail(std::string_view key, const std::string& message) const;

  /// Returns the keys with a value that nobody has asked for, without those in `harmless`.
  std::vector<std::string> unread(const std::set<std::string_view>& harmless) const;

 private:
  JsonValue root_;
  mutable std::set<std::string, std::less<>> read_;
};

}  // namespace plumb
