#include "schedules/phases/whole_expression.hpp"

#include <string>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

const WholeNames kNames{{"p", 4}, {"m", 7}};

std::int64_t value_of(const std::string& text) { return whole_value(text, kNames, "x"); }
std::string refused(const std::string& text) {
  return error_message([&] { value_of(text); });
}

}  // namespace

TEST_CASE("an expression of whole numbers comes to its value, operators by their strength") {
  CHECK(value_of("1 + 2 * 3") == 7);
  CHECK(value_of("(1 + 2) * 3") == 9);
  CHECK(value_of("10 - 2 - 3") == 5);
  CHECK(value_of("12 / 2 / 3") == 2);
  CHECK(value_of("7 / 2") == 3);
  CHECK(value_of("-7 / 2") == -4);  // rounded down
  CHECK(value_of("7 % 4") == 3);
  CHECK(value_of("-7 % 4") == 1);
  CHECK(value_of("p * m - 1") == 27);
  CHECK(value_of("min(p, m) + 10 * max(p, m)") == 74);
  CHECK(value_of("min(m, p)") == 4);
  for (const std::int64_t a : {1, 2, 3}) {
    const auto is = [&](const char* sign) { return value_of(std::to_string(a) + sign + "2") == 1; };
    CAPTURE(a);
    CHECK(is("<") == (a < 2));
    CHECK(is("<=") == (a <= 2));
    CHECK(is(">") == (a > 2));
    CHECK(is(">=") == (a >= 2));
    CHECK(is("==") == (a == 2));
    CHECK(is("!=") == (a != 2));
  }
}

TEST_CASE("values up to 10^15 on both sides of 0 are computed with, and none beyond") {
  const std::string most = "1000000 * 1000000000";
  CHECK(value_of(most) == 1'000'000'000'000'000);
  CHECK(value_of("-1000000 * 1000000000") == -1'000'000'000'000'000);
  CHECK(value_of("0 - " + most) == -1'000'000'000'000'000);
  CHECK(value_of(most + " - 1 + 1") == 1'000'000'000'000'000);
  CHECK(value_of("31622776 * 31622776") == 31'622'776LL * 31'622'776);
  for (const std::string& far :
       {most + " + 1", std::string("-1000000 * 1000000000 - 1"), std::string("31622777 * 31622777")}) {
    CAPTURE(far);
    CHECK(refused(far).find("10^15") != std::string::npos);
  }
}

TEST_CASE("what is no expression is refused with its text") {
  for (const char* wrong :
       {"", "1 +", "(1", "1)", "1 2", "q", "min(1)", "min(1, 2", "1 / 0", "1 % 0", "1 / -1", "*1", "a b"}) {
    CAPTURE(wrong);
    CHECK(refused(wrong).find("x: expression '" + std::string(wrong) + "': ") == 0);
  }
}

}  // namespace plumb::testing

TEST_SUITE_END();
