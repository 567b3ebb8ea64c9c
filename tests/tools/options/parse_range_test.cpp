#include "tools/options/parse_range.hpp"

#include <doctest/doctest.h>

#include "models/ground/error.hpp"

TEST_SUITE_BEGIN("tools");

using namespace plumb;

namespace {

using Numbers = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("ranges are numbers, steps and mixtures of both") {
  CHECK(parse_range("4", "-p") == Numbers{4});
  CHECK(parse_range("2,4,8", "-p") == Numbers{2, 4, 8});
  CHECK(parse_range("8:64:16", "-p") == Numbers{8, 24, 40, 56});
  CHECK(parse_range("8:24:8", "-p") == Numbers{8, 16, 24});
  CHECK(parse_range("1,2:4", "-p") == Numbers{1, 2, 3, 4});
  CHECK(parse_range("2-4", "-p") == Numbers{2, 3, 4});  // as other tools write them
  CHECK(parse_range("2..4,8", "-p") == Numbers{2, 3, 4, 8});
}

TEST_CASE("a range that is none says what was expected") {
  for (const char* text : {"", ",", "4:2", "0", "1:2:0", "1:2:3:4", "a", "1:", ":2", "2,,4", "1:1000000"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_range(text, "-p"), Error);
  }
  CHECK_THROWS_WITH_AS(parse_range("8:4", "-m"), "-m: '4' is out of range, expected 8 to 1099511627776", Error);
}
