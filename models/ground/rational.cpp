#include "models/ground/rational.hpp"

#include <cassert>
#include <numeric>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

[[noreturn]] void throw_too_large() { throw Error("a number needs more than 64 bits to be exact"); }

std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product) || product == INT64_MIN) throw_too_large();
  return product;
}

std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum) || sum == INT64_MIN) throw_too_large();
  return sum;
}

/// "12.5" without sign.
Rational parse_decimal(std::string_view text, std::string_view whole) {
  Rational value;
  bool any_digit = false;
  bool in_fraction = false;
  for (const char c : text) {
    if (c == '.' && !in_fraction) {
      in_fraction = true;
      continue;
    }
    if (c < '0' || c > '9') {
      throw Error("'" + std::string(whole) + "' is not a number, expected something like 2, 0.5 or 1/3");
    }
    any_digit = true;
    value.numerator = plus(times(value.numerator, 10), c - '0');
    if (in_fraction) value.denominator = times(value.denominator, 10);
  }
  if (!any_digit) throw Error("'" + std::string(whole) + "' is not a number, expected something like 2, 0.5 or 1/3");
  return {value.numerator, value.denominator};
}

}  // namespace

Rational::Rational(std::int64_t n, std::int64_t d) {
  assert(d != 0);
  const std::int64_t common = std::gcd(n, d) * (d < 0 ? -1 : 1);
  numerator = n / common;
  denominator = d / common;
}

Rational operator+(const Rational& a, const Rational& b) {
  const std::int64_t common = checked_lcm(a.denominator, b.denominator);
  return {plus(times(a.numerator, common / a.denominator), times(b.numerator, common / b.denominator)), common};
}

Rational operator-(const Rational& a, const Rational& b) { return a + Rational(-b.numerator, b.denominator); }

Rational operator*(const Rational& a, const Rational& b) {
  const Rational left(a.numerator, b.denominator);  // cancel first, so that fewer products overflow
  const Rational right(b.numerator, a.denominator);
  return {times(left.numerator, right.numerator), times(left.denominator, right.denominator)};
}

Rational parse_rational(std::string_view text) {
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative) rest.remove_prefix(1);
  const std::size_t slash = rest.find('/');
  Rational value = parse_decimal(rest.substr(0, slash), text);
  if (slash != std::string_view::npos) {
    const Rational divisor = parse_decimal(rest.substr(slash + 1), text);
    if (divisor.numerator == 0) throw Error("'" + std::string(text) + "' divides by zero");
    value = value * Rational(divisor.denominator, divisor.numerator);
  }
  return negative ? Rational() - value : value;
}

std::string to_string(const Rational& value) {
  const std::string numerator = std::to_string(value.numerator);
  return value.denominator == 1 ? numerator : numerator + "/" + std::to_string(value.denominator);
}

std::int64_t checked_lcm(std::int64_t a, std::int64_t b) { return times(a / std::gcd(a, b), b); }

}  // namespace plumb
