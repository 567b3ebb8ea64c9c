#include "models/ground/json_reader.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <iterator>
#include <utility>

#include <nlohmann/json.hpp>

#include "models/ground/error.hpp"
#include "models/ground/json_tree.hpp"
#include "models/ground/mistakes.hpp"
#include "models/ground/quoted_values.hpp"
#include "models/ground/reader_limits.hpp"

namespace plumb {
namespace {

using Kind = JsonKind;

/// Walks the text and knows how far the parser has read.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, const char** read) : at_(at), read_(read) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    *read_ = ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator old = *this;
    ++*this;
    return old;
  }
  friend bool operator!=(const CountingIterator& a, const CountingIterator& b) { return a.at_ != b.at_; }

 private:
  const char* at_;
  const char** read_;
};

/// Receives the events of nlohmann's parser: for texts that are not plainly JSON, whose faults it words.
class StrictParser : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit StrictParser(JsonTree& tree) : tree_(tree), builder_(tree), read_(tree.text.data()) {}

  void run() {
    const char* begin = tree_.text.data();
    const char* end = begin + tree_.text.size();
    nlohmann::json::sax_parse(CountingIterator(begin, &read_), CountingIterator(end, &read_), this);
  }

  bool null() override {
    add(Kind::kNull);
    return true;
  }
  bool boolean(bool value) override {
    add(Kind::kBoolean).boolean = value;
    return true;
  }
  bool number_integer(std::int64_t value) override {
    add(Kind::kInteger).integer = value;
    return true;
  }
  bool number_unsigned(std::uint64_t value) override {
    if (value <= static_cast<std::uint64_t>(INT64_MAX)) return number_integer(static_cast<std::int64_t>(value));
    add(Kind::kNumber).number = static_cast<double>(value);
    return true;
  }
  bool number_float(double value, const std::string&) override {
    add(Kind::kNumber).number = value;
    return true;
  }
  bool string(std::string& value) override {
    builder_.add_string(builder_.kept(value), next_token());
    return ended();
  }
  bool binary(nlohmann::json::binary_t&) override { return false; }

  bool start_object(std::size_t) override {
    builder_.open(Kind::kObject, next_token());
    return ended();
  }
  bool start_array(std::size_t) override {
    builder_.open(Kind::kArray, next_token());
    return ended();
  }
  bool end_object() override {
    builder_.close();
    return ended();
  }
  bool end_array() override { return end_object(); }

  bool key(std::string& value) override {
    builder_.add_key(builder_.kept(value), next_token());
    return ended();
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& error) override {
    std::string reason = error.what();  // "[json.exception.NAME.NUMBER] REASON", "[...] parse error at PLACE: REASON"
    for (const char* end : {"] ", ": "}) {
      if (const std::size_t cut = reason.find(end); cut != std::string::npos) reason.erase(0, cut + 2);
    }
    throw Error(tree_.place(position == 0 ? 0 : position - 1) + ": broken JSON: " + reason);
  }

 private:
  JsonNode& add(Kind kind) {
    JsonNode& node = builder_.add(kind, next_token());
    ended();
    return node;
  }

  bool ended() {
    last_end_ = static_cast<std::uint32_t>(read_ - tree_.text.data());
    return true;
  }

  /// Separators are no events: the token begins after those that follow the last event.
  std::uint32_t next_token() const {
    std::size_t at = last_end_;
    while (at < tree_.text.size() && std::strchr(" \t\r\n,:", tree_.text[at]) != nullptr) ++at;
    return static_cast<std::uint32_t>(at);
  }

  JsonTree& tree_;
  JsonTreeBuilder builder_;
  const char* read_;
  std::uint32_t last_end_ = 0;
};

/// Puts a text on one line.
std::string shorten(std::string_view text) {
  std::string out = short_value(text);
  std::ranges::replace_if(
      out, [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return out;
}

std::string describe(const JsonTree& tree, std::uint32_t node) {
  const JsonNode& n = tree.nodes[node];
  switch (n.kind) {
    case Kind::kNull:
      return "null";
    case Kind::kBoolean:
      return n.boolean ? "true" : "false";
    case Kind::kInteger:
      return std::to_string(n.integer);
    case Kind::kNumber: {
      const std::size_t end = tree.text.find_first_of(" \t\r\n,:]}", n.begin);
      return shorten(std::string_view(tree.text).substr(n.begin, end - n.begin));
    }
    case Kind::kString:
      return "\"" + shorten(tree.string_of(node)) + "\"";
    case Kind::kArray:
      return "an array of " + std::to_string(n.size);
    case Kind::kObject:
      return "an object";
  }
  return {};
}

std::string show(double value) {
  nlohmann::json number = value;
  if (value == std::floor(value) && std::abs(value) < 1e15) number = static_cast<std::int64_t>(value);
  return number.dump();
}

template <class T>
std::string bounds(T least, T most, std::string (*show_bound)(T)) {
  const bool open_below = least == std::numeric_limits<T>::lowest();
  const bool open_above = most == std::numeric_limits<T>::max();
  if (open_below && open_above) return "";
  if (open_above) return " of at least " + show_bound(least);
  if (open_below) return " of at most " + show_bound(most);
  return " from " + show_bound(least) + " to " + show_bound(most);
}

}  // namespace

JsonDocument::JsonDocument(std::string text, std::string file_name) {
  auto tree = std::make_unique<JsonTree>();
  tree->text = std::move(text);
  tree->file_name = std::move(file_name);
  if (tree->text.size() >= std::numeric_limits<std::uint32_t>::max()) {
    throw Error(tree->file_name + ": is larger than 4 GiB");
  }
  if (!scan_json(*tree)) {
    tree->nodes.clear();
    StrictParser(*tree).run();
  }
  tree_ = std::move(tree);
}

JsonDocument::~JsonDocument() = default;
JsonDocument::JsonDocument(JsonDocument&&) noexcept = default;
JsonDocument& JsonDocument::operator=(JsonDocument&&) noexcept = default;

JsonValue JsonDocument::root() const { return {*tree_, 0}; }

JsonValue::Kind JsonValue::kind() const { return tree_->nodes[node_].kind; }

bool JsonValue::boolean() const {
  if (kind() != Kind::kBoolean) fail_expected("true or false");
  return tree_->nodes[node_].boolean;
}

std::int64_t JsonValue::integer(std::int64_t least, std::int64_t most) const {
  const JsonNode& n = tree_->nodes[node_];
  if (n.kind != Kind::kInteger || n.integer < least || n.integer > most) {
    fail_expected("an integer" + bounds<std::int64_t>(least, most, [](std::int64_t b) { return std::to_string(b); }));
  }
  return n.integer;
}

double JsonValue::number(double least, double most) const {
  const JsonNode& n = tree_->nodes[node_];
  const double value = n.kind == Kind::kInteger  ? static_cast<double>(n.integer)
                       : n.kind == Kind::kNumber ? n.number
                                                 : std::numeric_limits<double>::quiet_NaN();
  if (!(value >= least && value <= most)) fail_expected("a number" + bounds<double>(least, most, show));
  return value;
}

std::string_view JsonValue::text() const {
  if (!is_string()) fail_expected("a string");
  return tree_->string_of(node_);
}

std::size_t JsonValue::size() const {
  if (!is_array() && !is_object()) fail_expected("an array or an object");
  return static_cast<std::size_t>(tree_->nodes[node_].size);
}

JsonValue::Elements JsonValue::elements() const {
  if (!is_array()) fail_expected("an array");
  return {Elements::Iterator(*tree_, node_ + 1), Elements::Iterator(*tree_, tree_->after(node_))};
}

JsonValue::Elements::Iterator& JsonValue::Elements::Iterator::operator++() {
  value_.node_ = value_.tree_->after(value_.node_);
  return *this;
}

std::vector<JsonValue::Member> JsonValue::members() const {
  if (!is_object()) fail_expected("an object");
  std::vector<Member> members;
  for (std::uint32_t key = node_ + 1; key < tree_->after(node_); key = tree_->after(key + 1)) {
    members.push_back({tree_->string_of(key), JsonValue(*tree_, key + 1)});
  }
  return members;
}

std::optional<JsonValue> JsonValue::find(std::string_view key) const {
  if (!is_object()) fail_expected("an object");
  for (std::uint32_t k = node_ + 1; k < tree_->after(node_); k = tree_->after(k + 1)) {
    if (tree_->string_of(k) == key) return JsonValue(*tree_, k + 1);
  }
  return std::nullopt;
}

JsonValue JsonValue::at(std::string_view key) const {
  if (const std::optional<JsonValue> value = find(key)) return *value;
  fail("missing key '" + std::string(key) + "'");
}

void JsonValue::allow_only(const std::vector<std::string_view>& known) const {
  Mistakes mistakes;
  for (const Member& member : members()) {
    bool found = false;
    for (const std::string_view name : known) found = found || name == member.key;
    if (found) continue;
    try {
      throw_unknown("key", shorten(member.key), known);
    } catch (const Error& error) {
      mistakes.note(JsonValue(*tree_, member.value.node_ - 1).where() + ": " + error.what());
    }
  }
  mistakes.finish();
}

void JsonValue::allow_only(std::initializer_list<std::string_view> known) const {
  allow_only(std::vector<std::string_view>(known));
}

std::string JsonValue::path() const {
  std::string path;
  for (std::uint32_t at = 0; at != node_;) {
    const bool in_object = tree_->nodes[at].kind == Kind::kObject;
    std::uint32_t child = at + 1;
    std::size_t position = 0;
    std::uint32_t value = in_object ? child + 1 : child;
    while (tree_->after(value) <= node_) {
      child = tree_->after(value);
      value = in_object ? child + 1 : child;
      ++position;
    }
    if (in_object && child == node_) return path;  // a key is named by its object
    if (in_object) {
      path += (path.empty() ? "" : ".") + shorten(tree_->string_of(child));
    } else {
      path += "[" + std::to_string(position) + "]";
    }
    at = value;
  }
  return path;
}

std::string JsonValue::where() const {
  const std::string inside = path();
  return tree_->place(tree_->nodes[node_].begin) + (inside.empty() ? "" : ": " + inside);
}

void JsonValue::fail(std::string_view message) const { throw Error(where() + ": " + std::string(message)); }

void JsonValue::fail_expected(std::string_view what) const {
  fail("expected " + std::string(what) + ", found " + describe(*tree_, node_));
}

namespace {

constexpr std::int64_t kMostVersion = 1'000'000;

}  // namespace

void check_format(const JsonValue& root, std::string_view format, std::int64_t version) {
  const JsonValue found = root.at("format");
  if (found.text() != format) found.fail_expected("\"" + std::string(format) + "\"");
  const JsonValue said = root.at("version");
  const std::int64_t number = said.integer(0, kMostVersion);
  if (number == version) return;
  said.fail(std::to_string(number) + " is written by " + (number < version ? "an earlier" : "a later") +
            " program than this one, which reads version " + std::to_string(version) + " of " + std::string(format));
}

}  // namespace plumb
