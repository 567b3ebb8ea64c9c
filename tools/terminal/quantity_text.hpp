#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plumb {

/// A unit of time and how many nanoseconds it has.
struct TimeUnit {
  std::string_view name;
  double ns = 1;
};

/// The largest of ns, µs, ms, s in which `ns` is at least 1.
TimeUnit time_unit(std::int64_t ns);

/// `value` with up to `digits` significant digits, never in exponential form, no trailing zeros: `12.5`, `3`, `0.0251`.
std::string number_text(double value, int digits = 4);

/// How times are said: in s, ms, µs or ns; or as bare numbers of the unit of abstract costs, which is 1 ms.
enum class TimeWords : std::uint8_t { kSeconds, kUnits };

/// `12.5 ms`; in units `12.5`.
std::string time_text(std::int64_t ns, TimeWords words = TimeWords::kSeconds);

/// The same for a time that is no whole number of nanoseconds.
std::string ns_text(double ns, TimeWords words = TimeWords::kSeconds);

/// A share as `27.3 %`.
std::string percent_text(double share);

/// `1.5 GiB`.
std::string bytes_text(std::int64_t bytes);

/// `1.53 G` for 1.53e9: a count with a decimal prefix and three significant digits.
std::string count_text(std::int64_t count);

/// Exactly `digits` after the point, for columns: fixed_text(2.5, 2) = `2.50`.
std::string fixed_text(double value, int digits);

/// A share in columns: share_text(0.273) = `27.30 %`.
std::string share_text(double share);

}  // namespace plumb
