#include "models/ground/quoted_values.hpp"

#include <cstddef>

#include "models/ground/reader_limits.hpp"

namespace plumb {
namespace {

constexpr char kMark = '\'';

/// Returns whether `text` has a letter or a digit at `at`; bytes beyond ASCII count as letters.
bool has_letter(std::string_view text, std::size_t at) {
  if (at >= text.size()) return false;
  const char c = text[at];
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (static_cast<unsigned char>(c) & 0x80U) != 0;
}

/// Returns the first mark from `at` on that begins a value; npos: none.
std::size_t value_begin(std::string_view message, std::size_t at) {
  at = message.find(kMark, at);
  while (at != std::string_view::npos && at > 0 && has_letter(message, at - 1)) at = message.find(kMark, at + 1);
  return at;
}

/// Returns the first mark from `at` on that ends a value; npos: none.
std::size_t value_end(std::string_view message, std::size_t at) {
  at = message.find(kMark, at);
  while (at != std::string_view::npos && has_letter(message, at + 1)) at = message.find(kMark, at + 1);
  return at;
}

}  // namespace

std::string short_value(std::string_view value) {
  if (value.size() <= kQuotedValue.most) return std::string(value);
  std::size_t end = kQuotedValue.most;
  while (end > 0 && (static_cast<unsigned char>(value[end]) & 0xC0U) == 0x80) --end;  // no character is cut
  return std::string(value.substr(0, end)) + "...";
}

std::string with_short_values(std::string_view message) {
  std::string text;
  std::size_t done = 0;
  for (std::size_t mark = value_begin(message, 0); mark != std::string_view::npos; mark = value_begin(message, done)) {
    const std::size_t end = value_end(message, mark + 1);
    if (end == std::string_view::npos) break;
    text += message.substr(done, mark + 1 - done);
    text += short_value(message.substr(mark + 1, end - mark - 1)) + kMark;
    done = end + 1;
  }
  return text += message.substr(done);
}

}  // namespace plumb
