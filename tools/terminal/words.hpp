#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/terminal/command_line.hpp"

namespace plumb {

/// Smallest and largest value that an option takes.
struct NumberRange {
  std::int64_t least = 1;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

struct RealRange {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  std::string_view unit = "";  ///< may follow the number: "cm"
};

/// A whole number that fills `text`, within `range`. Throws `Error`: "WHERE: 'x' is not a whole number, expected ...".
std::int64_t parse_whole(std::string_view text, NumberRange range, std::string_view where);

/// A finite decimal number that fills `text`, within `range`. Throws `Error` as `parse_whole` does.
double parse_real(std::string_view text, std::string_view where, RealRange range = {});

/// "80GiB", "512MB", "1000": bytes. Throws `Error` as `parse_whole` does.
std::int64_t parse_bytes(std::string_view text, std::string_view where);

/// Parts of `text` between `separator`s; an empty text has none.
std::vector<std::string> split(std::string_view text, char separator);

/// The words of "name word word ...", without the name. Throws `Error` when the command is another one.
CommandLine words_after(std::string_view name, std::string_view command);

/// The name of a JSON key for a table: "weight_versions" as "weight versions".
std::string with_spaces(std::string_view key);

/// `word` as a shell reads it back: itself where no letter means anything to a shell, otherwise in quotes.
std::string shell_word(const std::string& word);

/// The shortest digits that are read back as the same number.
std::string digits_of(double value);

/// Splits "key=value". Throws `Error` without a key or an equals sign.
std::pair<std::string, std::string> parse_assignment(std::string_view text, std::string_view where);

}  // namespace plumb
