#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "models/ground/json_reader.hpp"

namespace plumb {

/// The names that model types have for the same thing; the first that is there counts.
struct ConfigKeys {
  template <class... Names>
  ConfigKeys(Names... each) : names{std::string_view(each)...} {}  // NOLINT(google-explicit-constructor): "hidden_size"

  std::vector<std::string_view> names;
};

/// Typed access to a configuration of Hugging Face, whose keys may be missing or null. What the file does not say is
/// what the model's class takes for granted, `defaults`. It remembers which keys were asked for, so that what nobody
/// reads can be named. Every failure throws `Error` with the place of the value.
class ConfigReader {
 public:
  /// Both must outlive the reader.
  ConfigReader(const JsonValue& root, const JsonValue& defaults) : root_(root), defaults_(defaults) {}

  struct Found {
    std::string_view key;
    JsonValue value;
  };

  /// Returns a size that must be there.
  std::int64_t size(const ConfigKeys& keys) const;
  /// Returns a number of layers that must be there.
  std::int64_t layers(const ConfigKeys& keys) const;
  std::int64_t size(const ConfigKeys& keys, std::int64_t otherwise) const;
  bool flag(const ConfigKeys& keys, bool otherwise) const;
  double real(const ConfigKeys& keys, double otherwise) const;
  std::string text(const ConfigKeys& keys, std::string_view otherwise) const;
  /// Empty when it is not there.
  std::vector<std::int64_t> list(const ConfigKeys& keys) const;

  /// Returns the first of `keys` that has a value in the file, else in the defaults; none when all are missing or null.
  std::optional<Found> find(const ConfigKeys& keys) const;
  std::optional<JsonValue> given(const ConfigKeys& keys) const;
  [[noreturn]] void fail(std::string_view key, const std::string& message) const;

  /// Returns the keys with a value that nobody has asked for, without those in `harmless`.
  std::vector<std::string> unread(const std::set<std::string_view>& harmless) const;

 private:
  JsonValue root_;
  JsonValue defaults_;
  mutable std::set<std::string, std::less<>> read_;
};

}  // namespace plumb
