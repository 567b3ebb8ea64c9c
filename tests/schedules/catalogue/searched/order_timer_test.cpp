#include "schedules/catalogue/searched/order_timer.hpp"

#include <doctest/doctest.h>

#include "tests/support/order_problems.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {

TEST_CASE("an order is timed as by hand") {
  // d1: F 3-5, I 5-10, F 10-12, I 12-17, W 17-19; d0: F 0-2, F 2-4, I 11-16, W 16-17, I 18-23, W 23-24
  const OrderProblem problem = straight_of(2, 2, {2, 5, 1}, 1, 100);
  OrderTimer timer(problem);
  REQUIRE(timer.run({{0, 0, 1, 2, 1, 2}, {0, 1, 0, 1, 2, 2}}));
  CHECK(timer.device_span(0) == 24);
  CHECK(timer.device_span(1) == 16);
  CHECK(timer.longest_device_span() == 24);
}

TEST_CASE("an order is possible if it is complete, keeps the limits and no device waits for ever") {
  const OrderProblem problem = straight_of(2, 2, {1, 1, 1}, 0, 3);
  CHECK(is_possible(problem, {{0, 1, 0, 1, 2, 2}, {0, 1, 0, 1, 2, 2}}));
  CHECK_FALSE(is_possible(problem, {{0, 0, 1, 1, 2, 2}, {0, 1, 0, 1, 2, 2}}));  // stash of 4
  CHECK_FALSE(is_possible(problem, {{0, 1, 0, 1, 2}, {0, 1, 0, 1, 2, 2}}));     // a W is missing
  CHECK_FALSE(is_possible(problem, {{1, 0, 0, 1, 2, 2}, {0, 1, 0, 1, 2, 2}}));  // I before F
}

}  // namespace plumb::testing

TEST_SUITE_END();
