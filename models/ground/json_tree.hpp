#pragma once

#include <cstdint>
#include <map>
#include <memory_resource>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "models/ground/json_kind.hpp"

namespace plumb {

/// A value in document order. A member of an object is its key (a string) followed by its value.
struct JsonNode {
  std::uint32_t begin = 0;  ///< offset in the text
  /// Containers: node after the last one inside. Strings: length in bytes.
  std::uint32_t extent = 0;
  union {
    bool boolean;
    std::int64_t integer;
    double number;
    const char* text;
    std::int64_t size;  ///< elements or members
  };
  JsonKind kind = JsonKind::kNull;

  JsonNode() : integer(0) {}
};

/// A text with its values.
struct JsonTree {
  std::string text;
  std::string file_name;
  std::pmr::monotonic_buffer_resource strings;  ///< those that the text does not hold as they are
  std::vector<JsonNode> nodes;

  std::uint32_t after(std::uint32_t node) const {
    const JsonNode& n = nodes[node];
    return n.kind == JsonKind::kArray || n.kind == JsonKind::kObject ? n.extent : node + 1;
  }

  std::string_view string_of(std::uint32_t node) const { return {nodes[node].text, nodes[node].extent}; }

  /// "file:line:column" of an offset.
  std::string place(std::size_t offset) const;
};

/// Appends the values of a text in order, and holds it to the limits that `JsonDocument` states.
class JsonTreeBuilder {
 public:
  explicit JsonTreeBuilder(JsonTree& tree) : tree_(tree) {}

  /// Adds an element or the value of a key. The caller sets what it is.
  JsonNode& add(JsonKind kind, std::uint32_t begin);
  void add_string(std::string_view value, std::uint32_t begin) { set_text(add(JsonKind::kString, begin), value); }
  /// Throws `Error` for a repeated key, and for too many of an object.
  void add_key(std::string_view key, std::uint32_t begin);
  /// Throws `Error` for too many levels.
  void open(JsonKind kind, std::uint32_t begin);
  void close();

  bool is_open() const { return !open_.empty(); }
  bool in_object() const { return tree_.nodes[open_.back()].kind == JsonKind::kObject; }
  /// Keeps a text as long as the tree.
  std::string_view kept(std::string_view text);

 private:
  static void set_text(JsonNode& node, std::string_view value) {
    node.text = value.data();
    node.extent = static_cast<std::uint32_t>(value.size());
  }
  JsonNode& append(JsonKind kind, std::uint32_t begin);
  bool is_repeated();

  JsonTree& tree_;
  std::map<std::uint32_t, std::unordered_set<std::string_view>> keys_;  ///< keys of open objects with many
  std::vector<std::uint32_t> open_;
};

/// Reads the text of the tree in one pass. Returns false, with the tree in any state, where it is not plainly JSON
/// (broken, a number beyond all numbers, a mark of byte order): then another reader has to say why, or to read it.
/// Throws as the builder does.
bool scan_json(JsonTree& tree);

}  // namespace plumb
