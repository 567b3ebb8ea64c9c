#include "models/ground/error.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <vector>

#include "models/ground/quoted_values.hpp"
#include "models/ground/reader_limits.hpp"

namespace plumb {
namespace {

/// A line with more names than that is no help; it shows the nearest few of them.
constexpr std::size_t kMostListed = 40;
constexpr std::size_t kExamples = 5;
/// No name of ours is as long; what is compared with them letter by letter is cut here.
constexpr std::size_t kLongestCompared = 256;
/// What is kept of the end of a message that is too long: there stands what was expected.
constexpr std::size_t kMessageEnd = 512;

std::size_t edit_distance(std::string_view a, std::string_view b) {
  a = a.substr(0, kLongestCompared);
  b = b.substr(0, kLongestCompared);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row.back();
}

/// Returns the longest of `candidates` that `name` contains, of those that are longer than a few letters; empty: none.
std::string_view longest_within(std::string_view name, std::span<const std::string_view> candidates) {
  constexpr std::size_t kFewLetters = 3;
  std::string_view longest;
  for (const std::string_view candidate : candidates) {
    const bool within = candidate.size() > kFewLetters && name.find(candidate) != std::string_view::npos;
    if (within && candidate.size() > longest.size()) longest = candidate;
  }
  return longest;
}

unsigned char byte_at(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

/// Returns the bytes of the character that begins at `at`, when it is well-formed UTF-8 (RFC 3629) and no control
/// character; otherwise 0.
std::size_t shown_bytes(std::string_view text, std::size_t at) {
  const unsigned char first = byte_at(text, at);
  if (first < 0x80) return first >= ' ' && first != 0x7f ? 1 : 0;
  const std::size_t length = first >= 0xC2 && first < 0xE0   ? 2
                             : first >= 0xE0 && first < 0xF0 ? 3
                             : first >= 0xF0 && first < 0xF5 ? 4
                                                             : 0;
  if (length == 0 || at + length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte_at(text, at + i) & 0xC0U) != 0x80) return 0;
  }
  const unsigned char second = byte_at(text, at + 1);
  const bool is_control = first == 0xC2 && second < 0xA0;
  const bool is_overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool is_no_character = (first == 0xED && second >= 0xA0) || (first == 0xF4 && second >= 0x90);
  return is_control || is_overlong || is_no_character ? 0 : length;
}

/// `message` with short quotes, and without its middle where it is too long all the same.
std::string shortened(std::string_view given) {
  const std::string short_quotes = with_short_values(given);
  const std::string_view message = short_quotes;
  if (message.size() <= kMessageText.most) return short_quotes;
  const auto is_inside = [&](std::size_t at) { return (byte_at(message, at) & 0xC0U) == 0x80; };
  std::size_t end = static_cast<std::size_t>(kMessageText.most) - 2 * kMessageEnd;
  std::size_t begin = message.size() - kMessageEnd;
  while (end > 0 && is_inside(end)) --end;
  while (begin < message.size() && is_inside(begin)) ++begin;
  return std::string(message.substr(0, end)) + " [... " + std::to_string(begin - end) + " more bytes ...] " +
         std::string(message.substr(begin));
}

}  // namespace

std::string printable(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string line;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = shown_bytes(text, at);
    if (length > 0) {
      line += text.substr(at, length);
    } else if (text[at] == '\n') {
      line += "\\n";
    } else {
      const unsigned char byte = byte_at(text, at);
      line += {'\\', 'x', kHex[byte >> 4U], kHex[byte & 15U]};
    }
    at += std::max<std::size_t>(1, length);
  }
  return line;
}

Error::Error(std::string_view message) : std::runtime_error(printable(shortened(message))) {}

Errors::Errors(const std::vector<std::string>& messages) : Error(messages.front()) {
  for (const std::string& message : messages) messages_.push_back(printable(shortened(message)));
}

std::string nearest_name(std::string_view name, std::span<const std::string_view> candidates) {
  std::string best;
  std::size_t best_distance = 0;
  for (const std::string_view candidate : candidates) {
    const bool begins = name.starts_with(candidate);  // letters that were only added count half
    const std::size_t distance = begins ? (name.size() - candidate.size() + 1) / 2 : edit_distance(name, candidate);
    if (3 * distance > std::max(name.size(), candidate.size())) continue;
    if (best.empty() || distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

void throw_unknown(std::string_view what, std::string_view name, std::span<const std::string_view> candidates) {
  std::string message = "unknown " + std::string(what) + " '" + std::string(name) + "'";
  const std::string nearest = nearest_name(name, candidates);
  if (!nearest.empty()) throw Error(message + " (did you mean '" + nearest + "'?)");
  if (candidates.empty()) throw Error(message + "; expected none");
  std::vector<std::string_view> listed;
  std::ranges::copy_if(candidates, std::back_inserter(listed),
                       [&](std::string_view candidate) { return candidate.find(name) != std::string_view::npos; });
  if (listed.empty()) {  // "dgx-h100"
    const std::string_view longest = longest_within(name, candidates);
    if (!longest.empty()) listed.push_back(longest);
  }
  if (listed.size() == 1) throw Error(message + " (did you mean '" + std::string(listed.front()) + "'?)");
  if (listed.empty() || name.empty()) listed.assign(candidates.begin(), candidates.end());
  if (listed.size() <= kMostListed) {
    message += "; expected one of:";
  } else {
    message += "; expected one of " + std::to_string(listed.size()) + ", such as:";
    const auto distance = [name](std::string_view candidate) { return edit_distance(name, candidate); };
    std::ranges::stable_sort(listed, {}, distance);
    listed.resize(kExamples);
  }
  for (const std::string_view candidate : listed) message += " " + std::string(candidate);
  throw Error(message);
}

}  // namespace plumb
