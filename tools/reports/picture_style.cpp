#include "tools/reports/picture_style.hpp"

#include <algorithm>
#include <cstddef>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

/// Code points of UTF-8.
std::size_t points_of(std::string_view text) {
  std::size_t points = 0;
  for (const char c : text) points += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
  return points;
}

}  // namespace

std::vector<std::string> wrapped_text(std::string_view text, std::size_t length) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \n\t"), text.size());
    const std::string word = printable(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    if (lines.empty() || points_of(lines.back()) + 1 + points_of(word) > length) {
      lines.push_back(word);
    } else {
      lines.back() += ' ';
      lines.back() += word;
    }
  }
  return lines;
}

}  // namespace plumb
