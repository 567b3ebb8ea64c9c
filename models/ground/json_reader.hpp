#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/ground/json_kind.hpp"

namespace plumb {

class JsonValue;
struct JsonTree;

/// A parsed JSON text, strict: broken JSON, a repeated key in one object, more than 200 nested levels, more than 10000
/// keys in one object and texts above 4 GiB are refused with one line `file:line:column: what, what was expected`.
/// Values are handles into the document, so it must outlive them. 24 bytes per value; no third-party type is visible
/// here.
class JsonDocument {
 public:
  /// Parses `text`. `file_name` is only used in messages. Throws `Error`.
  JsonDocument(std::string text, std::string file_name);
  ~JsonDocument();
  JsonDocument(JsonDocument&&) noexcept;
  JsonDocument& operator=(JsonDocument&&) noexcept;

  JsonValue root() const;

 private:
  std::unique_ptr<const JsonTree> tree_;
};

/// One value of a `JsonDocument`: typed, checked access. Every failure throws `Error` with the place in the text and
/// the path of the value: `net.json:4:13: layers[2].width: expected an integer from 1 to 1000000, found "wide"`.
class JsonValue {
 public:
  using Kind = JsonKind;

  JsonValue(const JsonTree& tree, std::uint32_t node) : tree_(&tree), node_(node) {}

  Kind kind() const;
  bool is_string() const { return kind() == Kind::kString; }
  bool is_array() const { return kind() == Kind::kArray; }
  bool is_object() const { return kind() == Kind::kObject; }
  bool is_integer() const { return kind() == Kind::kInteger; }

  bool boolean() const;
  /// Returns a number written without fraction and exponent, within the bounds (both included).
  std::int64_t integer(std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                       std::int64_t most = std::numeric_limits<std::int64_t>::max()) const;
  /// Any finite number within the bounds (both included).
  double number(double least = std::numeric_limits<double>::lowest(),
                double most = std::numeric_limits<double>::max()) const;
  /// Returns a string. The view lives as long as the document.
  std::string_view text() const;

  /// Elements of an array or members of an object. Fails for other kinds.
  std::size_t size() const;

  /// The elements of an array, in order. Fails for other kinds.
  class Elements;
  Elements elements() const;

  struct Member;
  /// Returns the members of an object, in the order of the text. Fails for other kinds.
  std::vector<Member> members() const;

  /// Returns the member `key` of an object, if there. Fails for other kinds.
  std::optional<JsonValue> find(std::string_view key) const;
  /// Returns the member `key` of an object; fails with "missing key" when it is not there.
  JsonValue at(std::string_view key) const;
  /// Fails when the object has keys that are not among `known`: all of them, each with the nearest name.
  void allow_only(std::initializer_list<std::string_view> known) const;
  void allow_only(const std::vector<std::string_view>& known) const;

  /// "devices[3].actions[0]"; empty for the root.
  std::string path() const;
  /// "file:line:column: path" ("file:line:column" for the root).
  std::string where() const;
  /// Throws `Error(where() + ": " + message)`.
  [[noreturn]] void fail(std::string_view message) const;
  /// Throws: expected `what`, found this value.
  [[noreturn]] void fail_expected(std::string_view what) const;

 private:
  friend class JsonDocument;

  const JsonTree* tree_;
  std::uint32_t node_;
};

/// Range over the elements of an array: `for (const JsonValue& v : array.elements())`.
class JsonValue::Elements {
 public:
  class Iterator {
   public:
    Iterator(const JsonTree& tree, std::uint32_t node) : value_(tree, node) {}
    const JsonValue& operator*() const { return value_; }
    const JsonValue* operator->() const { return &value_; }
    Iterator& operator++();
    bool operator!=(const Iterator& other) const { return value_.node_ != other.value_.node_; }

   private:
    JsonValue value_;
  };

  Elements(Iterator begin, Iterator end) : begin_(begin), end_(end) {}
  Iterator begin() const { return begin_; }
  Iterator end() const { return end_; }

 private:
  Iterator begin_;
  Iterator end_;
};

struct JsonValue::Member {
  std::string_view key;  ///< lives as long as the document
  JsonValue value;
};

/// Fails unless `root` is an object with `"format": format` and `"version": version`.
void check_format(const JsonValue& root, std::string_view format, std::int64_t version);

}  // namespace plumb
