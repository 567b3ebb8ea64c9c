#include "tools/terminal/quantity_text.hpp"

#include <doctest/doctest.h>

TEST_SUITE_BEGIN("tools");

TEST_CASE("a number's text is never a number of another size, and zero has no sign") {
  CHECK(plumb::number_text(-1e-13) == "0");
  CHECK(plumb::number_text(-0.25) == "-0.25");
  const std::string large = plumb::number_text(1e100);
  CHECK(large.size() == 101);
  CHECK(std::stod(large) == 1e100);
  CHECK(std::stod(plumb::number_text(1.7976931348623157e308)) == 1.7976931348623157e308);
}
