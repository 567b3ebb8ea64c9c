#include "tools/terminal/words.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "models/ground/error.hpp"
#include "tools/terminal/quantity_text.hpp"

namespace plumb {

std::int64_t parse_whole(std::string_view text, NumberRange range, std::string_view where) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = end == text.data() + text.size() && !text.empty();
  if (error == std::errc{} && is_number && value >= range.least && value <= range.most) return value;
  std::string message = std::string(where) + ": '" + std::string(text) + "' is ";
  message += is_number ? "out of range" : "not a whole number";
  const bool bounded = range.most != std::numeric_limits<std::int64_t>::max();
  throw Error(message + ", expected " + std::to_string(range.least) +
              (bounded ? " to " + std::to_string(range.most) : " or more"));
}

double parse_real(std::string_view text, std::string_view where, RealRange range) {
  double value = 0;
  const std::string found = std::string(where) + ": '" + std::string(text) + "' is ";
  if (!range.unit.empty() && text.ends_with(range.unit)) text.remove_suffix(range.unit.size());
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) {
    throw Error(found + "not a number, expected one such as 0.5");
  }
  if (value >= range.least && value <= range.most) return value;
  const bool bounded = std::isfinite(range.most);
  throw Error(found + "out of range, expected " + number_text(range.least) +
              (bounded ? " to " + number_text(range.most) : " or more"));
}

std::int64_t parse_bytes(std::string_view text, std::string_view where) {
  struct Unit {
    std::string_view suffix;
    double bytes;
  };
  static constexpr std::array<Unit, 9> kUnits{{{"KiB", 0x1p10},
                                               {"MiB", 0x1p20},
                                               {"GiB", 0x1p30},
                                               {"TiB", 0x1p40},
                                               {"kB", 1e3},
                                               {"MB", 1e6},
                                               {"GB", 1e9},
                                               {"TB", 1e12},
                                               {"B", 1}}};
  double factor = 1;
  std::string_view number = text;
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.suffix)) continue;
    factor = unit.bytes;
    number.remove_suffix(unit.suffix.size());
    break;
  }
  const bool is_number = !number.empty() && number.find_first_not_of("+-.0123456789eE") == std::string_view::npos;
  if (!is_number) {
    throw Error(std::string(where) + ": '" + std::string(text) + "' is not a size, expected bytes such as 80GiB");
  }
  const double bytes = parse_real(number, where) * factor;
  if (!(bytes >= 0 && bytes < 0x1p62)) {
    throw Error(std::string(where) + ": '" + std::string(text) + "' is out of range, expected bytes such as 80GiB");
  }
  return std::llround(bytes);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
    if (text.empty()) parts.emplace_back();
  }
  return parts;
}

CommandLine words_after(std::string_view name, std::string_view command) {
  CommandLine words;
  for (std::string& word : split(command, ' ')) {
    if (!word.empty()) words.push_back(std::move(word));
  }
  if (words.empty() || words.front() != name) {
    throw Error("'" + std::string(command) + "': expected a command that begins with " + std::string(name));
  }
  words.erase(words.begin());
  return words;
}

std::pair<std::string, std::string> parse_assignment(std::string_view text, std::string_view where) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    throw Error(std::string(where) + ": '" + std::string(text) + "' has no key, expected key=value");
  }
  return {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

std::string with_spaces(std::string_view key) {
  std::string words(key);
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

std::string digits_of(double value) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return std::string(buffer.data(), end);
}

std::string shell_word(const std::string& word) {
  const bool plain = !word.empty() && word.find_first_not_of(
                                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                          "0123456789_-+=:,./%@") == std::string::npos;
  if (plain) return word;
  std::string text = "'";
  for (const char letter : word) text += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return text + "'";
}

}  // namespace plumb
