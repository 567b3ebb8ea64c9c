#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace plumb {

/// Takes the next piece of a text.
using TextSink = std::function<void(std::string_view)>;

/// Text that leaves in pieces of about 1 MiB, so that long documents need no memory of their own. The sink outlives it.
class TextPieces {
 public:
  explicit TextPieces(const TextSink& sink) : sink_(sink) { buffer_.reserve(kPiece + kPiece / 4); }

  void raw(std::string_view characters) { buffer_ += characters; }

  template <class Number>
  void number(Number value) {
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    buffer_.append(digits.data(), end);
  }

  /// Hands on what is there. Call it at the end.
  void hand_on() {
    sink_(buffer_);
    buffer_.clear();
  }

  /// Hands on a full piece; call it after every row or element.
  void hand_on_full() {
    if (buffer_.size() >= kPiece) hand_on();
  }

  /// What is not handed on yet, for functions that append to a text.
  std::string& pending() { return buffer_; }

 private:
  static constexpr std::size_t kPiece = std::size_t{1} << 20U;

  const TextSink& sink_;
  std::string buffer_;
};

/// Returns all that `write(arguments..., sink)` hands on.
template <class Write, class... Arguments>
std::string in_one_piece(Write&& write, const Arguments&... arguments) {
  std::string text;
  write(arguments..., [&text](std::string_view piece) { text += piece; });
  return text;
}

/// Returns how many bytes the UTF-8 character at the front of `text` has; 0 where that is none (RFC 3629, section 4).
inline std::size_t utf8_size(std::string_view text) {
  const auto byte = [&](std::size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U; };
  const auto follow = [&](std::size_t first, std::size_t end) {
    while (first < end && (byte(first) & 0xC0U) == 0x80U) ++first;
    return first == end;
  };
  const unsigned lead = byte(0);
  const unsigned second = byte(1);
  if (lead < 0x80) return text.empty() ? 0 : 1;
  if (lead >= 0xC2 && lead < 0xE0) return follow(1, 2) ? 2 : 0;
  if (lead >= 0xE0 && lead < 0xF0) {
    const bool shortest = lead != 0xE0 || second >= 0xA0;
    const bool no_surrogate = lead != 0xED || second < 0xA0;
    return shortest && no_surrogate && follow(1, 3) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead < 0xF5) {
    return (lead != 0xF0 || second >= 0x90) && (lead != 0xF4 || second < 0x90) && follow(1, 4) ? 4 : 0;
  }
  return 0;
}

/// JSON that leaves in pieces. The caller sees to brackets and commas; keys need no escapes.
class JsonPieces : public TextPieces {
 public:
  using TextPieces::TextPieces;

  /// Writes a string with its quotes. Bytes that are no UTF-8 become U+FFFD, since no reader takes them.
  void text(std::string_view characters) {
    constexpr std::string_view kHex = "0123456789abcdef";
    std::string& out = pending();
    out += '"';
    for (std::size_t at = 0; at < characters.size();) {
      const char c = characters[at];
      const auto byte = static_cast<unsigned char>(c);
      const std::size_t size = byte < 0x80 ? 1 : utf8_size(characters.substr(at));
      if (c == '"' || c == '\\') {
        (out += '\\') += c;
      } else if (byte < 0x20) {
        (out += "\\u00") += kHex[byte >> 4U];
        out += kHex[byte & 15U];
      } else {
        out += size == 0 ? "\xEF\xBF\xBD" : characters.substr(at, size);
      }
      at += size == 0 ? 1 : size;
    }
    out += '"';
  }

  /// Writes `,"key":`.
  void key(std::string_view name) {
    raw(",\"");
    raw(name);
    raw("\":");
  }

  template <class Number>
  void field(std::string_view name, Number value) {
    key(name);
    number(value);
  }
};

}  // namespace plumb
