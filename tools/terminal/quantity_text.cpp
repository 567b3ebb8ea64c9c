#include "tools/terminal/quantity_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace plumb {
namespace {

constexpr std::array kTimeUnits{TimeUnit{"s", 1e9}, TimeUnit{"ms", 1e6}, TimeUnit{"µs", 1e3}, TimeUnit{"ns", 1.0}};

}  // namespace

TimeUnit time_unit(std::int64_t ns) {
  for (const TimeUnit& unit : kTimeUnits) {
    if (static_cast<double>(ns < 0 ? -ns : ns) >= unit.ns) return unit;
  }
  return kTimeUnits.back();
}

std::string number_text(double value, int digits) {
  if (value == 0 || !std::isfinite(value)) return std::isfinite(value) ? "0" : "-";
  const int magnitude = static_cast<int>(std::floor(std::log10(std::abs(value))));
  const int decimals = std::clamp(digits - 1 - magnitude, 0, 12);
  std::string result = fixed_text(value, decimals);
  if (decimals > 0) {
    result.erase(result.find_last_not_of('0') + 1);
    if (result.back() == '.') result.pop_back();
  }
  return result == "-0" ? "0" : result;
}

std::string time_text(std::int64_t ns, TimeWords words) {
  if (words == TimeWords::kUnits) return number_text(static_cast<double>(ns) / 1e6);
  const TimeUnit unit = time_unit(ns);
  return number_text(static_cast<double>(ns) / unit.ns) + " " + std::string(unit.name);
}

std::string ns_text(double ns, TimeWords words) { return time_text(std::llround(ns), words); }

std::string percent_text(double share) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %%", 100 * share);
  return text.data();
}

std::string bytes_text(std::int64_t bytes) {
  static constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; std::abs(value) >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return number_text(value) + " " + kUnits[unit];
}

std::string count_text(std::int64_t count) {
  static constexpr std::array kPrefixes{"", " k", " M", " G", " T", " P", " E"};
  auto value = static_cast<double>(count);
  std::size_t prefix = 0;
  for (; std::abs(value) >= 1000 && prefix + 1 < kPrefixes.size(); ++prefix) value /= 1000;
  return number_text(value, 3) + kPrefixes[prefix];
}

std::string fixed_text(double value, int digits) {
  if (std::isnan(value)) return "nan";
  std::array<char, 400> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

std::string share_text(double share) { return fixed_text(100 * share, 2) + " %"; }

}  // namespace plumb
