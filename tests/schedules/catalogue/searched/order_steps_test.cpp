#include "schedules/catalogue/searched/order_steps.hpp"

#include <doctest/doctest.h>

#include "schedules/catalogue/searched/list_order.hpp"
#include "schedules/catalogue/searched/order_timer.hpp"
#include "schedules/catalogue/searched/span_bound.hpp"
#include "tests/support/order_problems.hpp"
#include "tests/support/sanitized.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {

TEST_CASE("steps keep an order possible and never make it longer, and their result is its span") {
  Numbers numbers;
  for (int k = 0; k < 200; ++k) {
    const OrderProblem problem = small_problem(numbers, k % 3 == 2);
    auto words = list_order(problem, {.backward_first = k % 2 == 0});
    REQUIRE(words);
    OrderTimer timer(problem);
    timer.run(*words);
    const Ticks before = timer.longest_device_span();
    const Ticks after = improve_by_steps(problem, *words, least_span(problem), 20'000);
    CAPTURE(k);
    CHECK(after <= before);
    CHECK(is_possible(problem, *words));
    timer.run(*words);
    CHECK(timer.longest_device_span() == after);
  }
}

TEST_CASE("steps move W from the end into the gap between two I") {
  // d0: F 0-2, I at 3 and 5, W at 6 and 7; the first W fits into 4-5.
  const OrderProblem problem = straight_of(2, 2, {1, 1, 1}, 0, 100);
  std::vector<OrderWord> words{{0, 0, 1, 1, 2, 2}, {0, 1, 0, 1, 2, 2}};
  OrderTimer timer(problem);
  timer.run(words);
  CHECK(timer.longest_device_span() == 8);
  CHECK(improve_by_steps(problem, words, 0, 1'000'000) == 7);
  CHECK(words[0] == OrderWord{0, 0, 1, 2, 1, 2});
}

TEST_CASE("of small problems, nineteen of twenty list orders with steps are the shortest of all orders") {
  constexpr int kProblems = kSanitized ? 24 : 240;
  Numbers numbers;
  int compared = 0;
  int shortest_ones = 0;
  for (int k = 0; k < kProblems; ++k) {
    const OrderProblem problem = small_problem(numbers, k % 3 == 2);
    const Ticks shortest = shortest_span_of_all(problem, 40'000);
    if (shortest == 0) continue;
    auto words = list_order(problem, {});
    REQUIRE(words);
    const Ticks found = improve_by_steps(problem, *words, least_span(problem), 200'000);
    CHECK(found >= shortest);
    ++compared;
    shortest_ones += found == shortest ? 1 : 0;
  }
  CHECK(shortest_ones * 20 >= compared * 19);
}

TEST_CASE("without a budget nothing is changed") {
  const OrderProblem problem = straight_of(2, 2, {1, 1, 1}, 0, 100);
  std::vector<OrderWord> words(2, {0, 0, 1, 1, 2, 2});
  const std::vector<OrderWord> before = words;
  improve_by_steps(problem, words, 0, 0);
  CHECK(words == before);
}

}  // namespace plumb::testing

TEST_SUITE_END();
