#include "models/ground/json_tree.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <string>

#include "models/ground/error.hpp"
#include "models/ground/reader_limits.hpp"
#include "models/ground/text_pieces.hpp"

namespace plumb {
namespace {

using Kind = JsonKind;

constexpr std::uint64_t kEach = 0x0101010101010101U;
constexpr std::uint64_t kTops = 0x8080808080808080U;

/// Marks, by its top bit, the first of eight bytes that ends a run of plain characters: a quote, a backslash, a control
/// or one beyond ASCII. Marks behind the first one may be wrong. Zero without any.
std::uint64_t special_bytes(std::uint64_t bytes) {
  const auto zeros = [](std::uint64_t word) { return (word - kEach) & ~word & kTops; };
  return (bytes & kTops) | zeros(bytes ^ (kEach * '"')) | zeros(bytes ^ (kEach * '\\')) |
         zeros(bytes & (kEach * 0xE0U));
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The grammar of RFC 8259. The text ends with a zero, which no rule takes, so that no length has to be asked.
class JsonScanner {
 public:
  explicit JsonScanner(JsonTree& tree)
      : begin_(tree.text.data()), end_(begin_ + tree.text.size()), at_(begin_), builder_(tree) {}

  bool run() {
    bool value_next = true;
    do {
      if (!(value_next ? read_value() : end_value())) return false;
      value_next = value_next_;
    } while (builder_.is_open());
    skip_space();
    return at_ == end_;
  }

 private:
  std::uint32_t here() const { return static_cast<std::uint32_t>(at_ - begin_); }

  void skip_space() {
    while (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t') ++at_;
  }

  bool take(char c) {
    if (*at_ != c) return false;
    ++at_;
    return true;
  }

  /// Reads a value, or the beginning of a container.
  bool read_value() {
    skip_space();
    value_next_ = false;
    switch (*at_) {
      case '{':
        builder_.open(Kind::kObject, here());
        ++at_;
        skip_space();
        return *at_ == '}' || read_key();
      case '[':
        builder_.open(Kind::kArray, here());
        ++at_;
        skip_space();
        value_next_ = *at_ != ']';
        return true;
      case '"':
        return read_string([this](std::string_view text, std::uint32_t begin) { builder_.add_string(text, begin); });
      case 't':
        return read_word("true", Kind::kBoolean, true);
      case 'f':
        return read_word("false", Kind::kBoolean, false);
      case 'n':
        return read_word("null", Kind::kNull, false);
      default:
        return read_number();
    }
  }

  /// Reads what follows a value inside of a container.
  bool end_value() {
    skip_space();
    const bool object = builder_.in_object();
    if (take(',')) {
      skip_space();
      value_next_ = true;
      return !object || read_key();
    }
    if (!take(object ? '}' : ']')) return false;
    builder_.close();
    return true;
  }

  bool read_key() {
    value_next_ = true;
    if (!read_string([this](std::string_view text, std::uint32_t begin) { builder_.add_key(text, begin); }))
      return false;
    skip_space();
    return take(':');
  }

  bool read_word(std::string_view word, Kind kind, bool value) {
    if (static_cast<std::size_t>(end_ - at_) < word.size() || std::string_view(at_, word.size()) != word) return false;
    JsonNode& node = builder_.add(kind, here());
    if (kind == Kind::kBoolean) node.boolean = value;
    at_ += word.size();
    return true;
  }

  /// Passes over plain characters, eight at a time; returns at a quote, a backslash or what no string may hold.
  void skip_plain() {
    static_assert(std::endian::native == std::endian::little, "the first byte is the lowest one");
    while (true) {
      while (end_ - at_ >= 8) {
        std::uint64_t bytes = 0;
        std::memcpy(&bytes, at_, sizeof bytes);
        const std::uint64_t special = special_bytes(bytes);
        at_ += special == 0 ? 8 : std::countr_zero(special) / 8;
        if (special != 0) break;
      }
      const auto byte = static_cast<unsigned char>(*at_);
      if (byte == '"' || byte == '\\' || byte < 0x20) return;
      const std::size_t size = byte < 0x80 ? 1 : utf8_size(std::string_view(at_, static_cast<std::size_t>(end_ - at_)));
      if (size == 0) return;
      at_ += size;
    }
  }

  /// Strings without escapes are not copied.
  template <class Add>
  bool read_string(Add&& add) {
    const std::uint32_t token = here();
    if (!take('"')) return false;
    const char* text = at_;
    skip_plain();
    if (*at_ == '"') {
      add(std::string_view(text, static_cast<std::size_t>(at_ - text)), token);
      ++at_;
      return true;
    }
    scratch_.assign(text, at_);
    while (*at_ == '\\') {
      ++at_;
      if (!read_escape()) return false;
      text = at_;
      skip_plain();
      scratch_.append(text, at_);
    }
    if (!take('"')) return false;
    add(builder_.kept(scratch_), token);
    return true;
  }

  /// Reads what follows a backslash, and appends what it stands for.
  bool read_escape() {
    constexpr std::string_view kNames = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    const char name = *at_++;
    if (const std::size_t known = kNames.find(name); known != std::string_view::npos) {
      scratch_ += kMeanings[known];
      return true;
    }
    std::uint32_t code = 0;
    if (name != 'u' || !read_hex(code)) return false;
    if (code >= 0xDC00 && code < 0xE000) return false;
    if (code >= 0xD800 && code < 0xDC00) {
      std::uint32_t low = 0;
      if (!take('\\') || !take('u') || !read_hex(low) || low < 0xDC00 || low >= 0xE000) return false;
      code = 0x10000 + ((code - 0xD800) << 10U) + (low - 0xDC00);
    }
    append_utf8(code);
    return true;
  }

  bool read_hex(std::uint32_t& code) {
    if (end_ - at_ < 4) return false;
    const auto [end, error] = std::from_chars(at_, at_ + 4, code, 16);
    if (error != std::errc{} || end != at_ + 4) return false;
    at_ += 4;
    return true;
  }

  void append_utf8(std::uint32_t code) {
    const auto follow = [&](unsigned shift) { scratch_ += static_cast<char>(0x80U | ((code >> shift) & 0x3FU)); };
    if (code < 0x80) {
      scratch_ += static_cast<char>(code);
    } else if (code < 0x800) {
      scratch_ += static_cast<char>(0xC0U | (code >> 6U));
      follow(0);
    } else if (code < 0x10000) {
      scratch_ += static_cast<char>(0xE0U | (code >> 12U));
      follow(6);
      follow(0);
    } else {
      scratch_ += static_cast<char>(0xF0U | (code >> 18U));
      follow(12);
      follow(6);
      follow(0);
    }
  }

  bool skip_digits() {
    if (!is_digit(*at_)) return false;
    while (is_digit(*at_)) ++at_;
    return true;
  }

  bool read_number() {
    const char* text = at_;
    const std::uint32_t token = here();
    const bool negative = take('-');
    if (!take('0') && !skip_digits()) return false;
    bool whole = true;
    if (take('.')) {
      whole = false;
      if (!skip_digits()) return false;
    }
    if (*at_ == 'e' || *at_ == 'E') {
      whole = false;
      ++at_;
      if (!take('+')) take('-');
      if (!skip_digits()) return false;
    }
    if (whole) {
      std::int64_t integer = 0;
      if (std::from_chars(text, at_, integer).ec == std::errc{}) {
        builder_.add(Kind::kInteger, token).integer = integer;
        return true;
      }
      std::uint64_t large = 0;
      if (!negative && std::from_chars(text, at_, large).ec == std::errc{}) {
        builder_.add(Kind::kNumber, token).number = static_cast<double>(large);
        return true;
      }
    }
    double number = 0;
    if (std::from_chars(text, at_, number).ec != std::errc{}) return false;
    builder_.add(Kind::kNumber, token).number = number;
    return true;
  }

  const char* begin_;
  const char* end_;
  const char* at_;
  JsonTreeBuilder builder_;
  std::string scratch_;
  bool value_next_ = true;
};

}  // namespace

std::string JsonTree::place(std::size_t offset) const {
  std::size_t line = 1;
  std::size_t line_begin = 0;
  for (std::size_t i = 0; i < offset && i < text.size(); ++i) {
    if (text[i] == '\n') {
      ++line;
      line_begin = i + 1;
    }
  }
  return file_name + ":" + std::to_string(line) + ":" + std::to_string(offset - line_begin + 1);
}

JsonNode& JsonTreeBuilder::add(Kind kind, std::uint32_t begin) {
  if (!open_.empty() && tree_.nodes[open_.back()].kind == Kind::kArray) ++tree_.nodes[open_.back()].size;
  return append(kind, begin);
}

JsonNode& JsonTreeBuilder::append(Kind kind, std::uint32_t begin) {
  JsonNode& node = tree_.nodes.emplace_back();
  node.kind = kind;
  node.begin = begin;
  return node;
}

std::string_view JsonTreeBuilder::kept(std::string_view text) {
  char* copy = static_cast<char*>(tree_.strings.allocate(text.size() + 1, 1));
  std::ranges::copy(text, copy);
  return {copy, text.size()};
}

void JsonTreeBuilder::open(Kind kind, std::uint32_t begin) {
  const auto node = static_cast<std::uint32_t>(tree_.nodes.size());
  add(kind, begin);
  open_.push_back(node);
  if (open_.size() > kJsonLevels.most) {
    throw Error(tree_.place(begin) + ": nested too deeply, expected at most " + std::to_string(kJsonLevels.most) +
                " levels");
  }
}

void JsonTreeBuilder::close() {
  if (!keys_.empty()) keys_.erase(open_.back());
  tree_.nodes[open_.back()].extent = static_cast<std::uint32_t>(tree_.nodes.size());
  open_.pop_back();
}

void JsonTreeBuilder::add_key(std::string_view key, std::uint32_t begin) {
  set_text(append(Kind::kString, begin), key);
  if (is_repeated()) throw Error(tree_.place(begin) + ": repeated key '" + std::string(key) + "'");
  if (++tree_.nodes[open_.back()].size > static_cast<std::int64_t>(kJsonMembers.most)) {
    throw Error(tree_.place(begin) + ": object has too many keys, expected at most " +
                std::to_string(kJsonMembers.most));
  }
}

/// Returns whether the last node, a key, stands in its object already. Objects of many keys are looked up in a table.
bool JsonTreeBuilder::is_repeated() {
  constexpr std::int64_t kFewKeys = 32;
  const std::uint32_t object = open_.back();
  const auto last = static_cast<std::uint32_t>(tree_.nodes.size() - 1);
  if (tree_.nodes[object].size < kFewKeys) {
    for (std::uint32_t k = object + 1; k < last; k = tree_.after(k + 1)) {
      if (tree_.string_of(k) == tree_.string_of(last)) return true;
    }
    return false;
  }
  const auto [keys, is_new] = keys_.try_emplace(object);
  if (is_new) {
    for (std::uint32_t k = object + 1; k < last; k = tree_.after(k + 1)) keys->second.insert(tree_.string_of(k));
  }
  return !keys->second.insert(tree_.string_of(last)).second;
}

bool scan_json(JsonTree& tree) { return JsonScanner(tree).run(); }

}  // namespace plumb
