#include "tools/options/parse_range.hpp"

#include <string>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

constexpr std::size_t kMostNumbers = 100'000;
constexpr NumberRange kWholeNumbers{1, std::int64_t{1} << 40};

/// First, last and step; "2-8" and "2..8", as other tools write them, are 2:8.
std::vector<std::string> ends_of(const std::string& part) {
  for (const std::string_view between : {"..", "-"}) {
    const std::size_t at = part.find(between);
    if (at == std::string::npos || at == 0 || part.find(':') != std::string::npos) continue;
    return {part.substr(0, at), part.substr(at + between.size())};
  }
  return split(part, ':');
}

}  // namespace

std::vector<std::int64_t> parse_range(std::string_view text, std::string_view where, NumberRange within) {
  std::vector<std::int64_t> numbers;
  for (const std::string& part : split(text, ',')) {
    const std::vector<std::string> ends = ends_of(part);
    if (ends.empty() || ends.size() > 3) {
      throw Error(std::string(where) + ": '" + part +
                  "' is not a range, expected numbers such as 2,4,8, 2:8 or 8:64:8");
    }
    const std::int64_t first = parse_whole(ends.front(), within, where);
    const std::int64_t last = ends.size() > 1 ? parse_whole(ends[1], {first, within.most}, where) : first;
    const std::int64_t step = ends.size() > 2 ? parse_whole(ends[2], kWholeNumbers, where) : 1;
    for (std::int64_t number = first; number <= last; number += step) {
      if (numbers.size() == kMostNumbers) {
        throw Error(std::string(where) + ": more than " + std::to_string(kMostNumbers) + " numbers, expected fewer");
      }
      numbers.push_back(number);
    }
  }
  if (numbers.empty())
    throw Error(std::string(where) + ": the range is empty, expected numbers such as 2,4,8 or 8:64:8");
  return numbers;
}

}  // namespace plumb
