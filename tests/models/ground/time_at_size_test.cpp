#include "models/ground/time_at_size.hpp"

#include <limits>

#include <doctest/doctest.h>

TEST_SUITE_BEGIN("models");

using namespace plumb;

TEST_CASE("a time on a line is the nearest nanosecond, halves up, and never below 0") {
  CHECK(time_at_size({0, 0}, {4, 2}, 1) == 1);
  CHECK(time_at_size({0, 3}, {4, 1}, 1) == 3);
  CHECK(time_at_size({0, 3}, {4, 1}, 2) == 2);
  CHECK(time_at_size({0, 3}, {4, 1}, 100) == 0);
  CHECK(time_at_size({7, 5}, {7, 5}, 100) == 5);
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  CHECK(time_at_size({0, 0}, {1, kMost / 2}, kMost) == std::int64_t{1} << 53U);
}

TEST_SUITE_END();
