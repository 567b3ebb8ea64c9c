#include "schedules/catalogue/searched/list_order.hpp"

#include <doctest/doctest.h>

#include "schedules/catalogue/searched/order_timer.hpp"
#include "tests/support/order_problems.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {

TEST_CASE("list orders are possible wherever a device can hold one microbatch") {
  Numbers numbers;
  for (int k = 0; k < 300; ++k) {
    const OrderProblem problem = small_problem(numbers, k % 2 == 1);
    for (const bool backward_first : {true, false}) {
      for (const bool fill : {true, false}) {
        const auto words = list_order(problem, {.backward_first = backward_first, .fill_short_gap = fill});
        CAPTURE(k);
        REQUIRE(words);
        CHECK(is_possible(problem, *words));
      }
    }
  }
  CHECK_FALSE(list_order(straight_of(2, 2, {1, 1, 1}, 0, 1), {}));
}

TEST_CASE("a list order is written as by hand") {
  // Room for one and a half stashes: d0 must wait for I 0 before its second F.
  const auto words = list_order(straight_of(2, 2, {1, 1, 1}, 0, 3), {});
  REQUIRE(words);
  CHECK((*words)[0] == OrderWord{0, 1, 0, 2, 1, 2});
  CHECK((*words)[1] == OrderWord{0, 1, 2, 0, 1, 2});
}

}  // namespace plumb::testing

TEST_SUITE_END();
