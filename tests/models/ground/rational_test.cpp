#include "models/ground/rational.hpp"

#include <string>

#include <doctest/doctest.h>

#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("models");

using namespace plumb;
using plumb::testing::error_message;

TEST_CASE("decimals and fractions are read exactly and reduced") {
  CHECK(parse_rational("3") == Rational(3));
  CHECK(parse_rational("0.125") == Rational(1, 8));
  CHECK(parse_rational("-18.522") == Rational(-9261, 500));
  CHECK(parse_rational("1/3") == Rational(1, 3));
  CHECK(parse_rational("2.5/0.5") == Rational(5));
  CHECK(parse_rational(".5") == Rational(1, 2));
  CHECK(to_string(parse_rational("4/6")) == "2/3");
  CHECK(to_string(parse_rational("-0")) == "0");
}

TEST_CASE("a third three times is one") {
  const Rational third = parse_rational("1/3");
  CHECK(third + third + third == Rational(1));
  CHECK(third * Rational(3) == Rational(1));
  CHECK(third - third == Rational());
  CHECK(Rational(1, 3) < Rational(34, 100));
  CHECK_FALSE(Rational(1, 3) < Rational(33, 100));
}

TEST_CASE("what is no number is refused with its text") {
  for (const char* text : {"", "-", "1e3", "1.2.3", "1/", "/2", "1/2/3", " 1", "0x10", "inf", "1,5", "+1"}) {
    CAPTURE(text);
    CHECK(error_message([&] { parse_rational(text); }) ==
          "'" + std::string(text) + "' is not a number, expected something like 2, 0.5 or 1/3");
  }
  CHECK(error_message([] { parse_rational("1/0"); }) == "'1/0' divides by zero");
}

TEST_CASE("a value beyond 64 bits is refused, never rounded") {
  const std::string message = "a number needs more than 64 bits to be exact";
  CHECK(error_message([] { parse_rational("9223372036854775808"); }) == message);
  CHECK(error_message([] { parse_rational("0.0000000000000000001"); }) == message);
  CHECK(error_message([] { Rational(INT64_MAX) + Rational(1); }) == message);
  CHECK(error_message([] { Rational(INT64_MAX) * Rational(2); }) == message);
  CHECK(error_message([] { checked_lcm(INT64_MAX, INT64_MAX - 1); }) == message);
  CHECK(Rational(INT64_MAX, 2) * Rational(2) == Rational(INT64_MAX));
}

TEST_SUITE_END();
