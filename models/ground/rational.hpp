#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plumb {

/// An exact fraction in lowest terms with a positive denominator. Arithmetic throws `Error` when 64 bits do not
/// suffice.
struct Rational {
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;

  Rational() = default;
  Rational(std::int64_t n, std::int64_t d = 1);  ///< implicit: an integer is a fraction

  friend Rational operator+(const Rational& a, const Rational& b);
  friend Rational operator-(const Rational& a, const Rational& b);
  friend Rational operator*(const Rational& a, const Rational& b);
  friend bool operator==(const Rational&, const Rational&) = default;
  friend bool operator<(const Rational& a, const Rational& b) { return (a - b).numerator < 0; }
};

/// "3", "-0.125", "1/3", "2.5/3". The whole text must match; throws `Error` naming the text otherwise.
Rational parse_rational(std::string_view text);

/// "3", "1/3".
std::string to_string(const Rational& value);

/// Returns the least common multiple; throws `Error` when 64 bits do not suffice. Both positive.
std::int64_t checked_lcm(std::int64_t a, std::int64_t b);

}  // namespace plumb
