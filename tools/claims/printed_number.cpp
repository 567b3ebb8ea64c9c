#include "tools/claims/printed_number.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace plumb {
namespace {

constexpr std::size_t kMostDigits = 15;  // a double holds them all

std::optional<PrintedNumber> decimal(std::string_view text) {
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  const std::string_view fraction = point == std::string_view::npos ? std::string_view{} : text.substr(point + 1);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const bool digits =
      std::all_of(whole.begin(), whole.end(), is_digit) && std::all_of(fraction.begin(), fraction.end(), is_digit);
  if (!digits || whole.empty() || (point != std::string_view::npos && fraction.empty())) return std::nullopt;
  if (whole.size() + fraction.size() > kMostDigits) return std::nullopt;
  PrintedNumber number;
  std::from_chars(text.data(), text.data() + text.size(), number.value);
  number.tolerance = 0.5 * std::pow(10.0, -static_cast<double>(fraction.size()));
  return number;
}

}  // namespace

std::optional<PrintedNumber> printed_number(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return decimal(text);
  const std::optional<PrintedNumber> above = decimal(text.substr(0, slash));
  const std::optional<PrintedNumber> below = decimal(text.substr(slash + 1));
  if (!above || !below || below->value <= below->tolerance) return std::nullopt;
  const double value = above->value / below->value;
  const double most = (above->value + above->tolerance) / (below->value - below->tolerance);
  return PrintedNumber{value, most - value};
}

}  // namespace plumb
