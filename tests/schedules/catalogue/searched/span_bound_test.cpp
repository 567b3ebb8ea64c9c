#include "schedules/catalogue/searched/span_bound.hpp"

#include <doctest/doctest.h>

#include "tests/support/order_problems.hpp"
#include "tests/support/sanitized.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {

TEST_CASE("no order of all that there are is shorter than the lower bound of its problem") {
  constexpr int kProblems = kSanitized ? 24 : 240;
  Numbers numbers;
  int compared = 0;
  int equal = 0;
  for (int k = 0; k < kProblems; ++k) {
    const OrderProblem problem = small_problem(numbers, k % 3 == 2);
    const Ticks shortest = shortest_span_of_all(problem, 40'000);
    if (shortest == 0) continue;
    CAPTURE(k);
    const Ticks bound = least_span(problem);
    CHECK(bound <= shortest);
    ++compared;
    equal += bound == shortest ? 1 : 0;
  }
  CHECK(compared * 8 >= kProblems * 5);
  CHECK(equal >= compared * 9 / 10);
}

TEST_CASE("the lower bound is ZB-H1's length where a device keeps p stashes") {
  // m t + (p - 1)(F + I - W) + 4 (p - 1) comm (reference: section 2.3 of the zero-bubble paper and its table 5)
  for (const std::int32_t p : {2, 4, 8, 16}) {
    const std::int32_t m = 3 * p;
    CAPTURE(p);
    CHECK(least_span(straight_of(p, m, {5, 6, 4}, 1, 2 * p)) == m * 15 + (p - 1) * 7 + 4 * (p - 1));
  }
}

TEST_CASE("the lower bound is the way of all microbatches over the last device where memory does not matter") {
  // 7 F down, 24 (F + I) on the last device, 7 I up, the last W: the paper's ZB-2p of 1.5 B parameters
  const OrderProblem problem = straight_of(8, 24, {18522, 18086, 9337}, 601, 1000);
  CHECK(least_span(problem) == 7 * (18522 + 601) + 24 * (18522 + 18086) + 7 * (601 + 18086) + 9337);
}

TEST_CASE("with room for one microbatch the lower bound is that of one after another") {
  // F, the way down and up, I, then the next F after W
  const OrderProblem problem = straight_of(3, 5, {2, 5, 1}, 0, 2);
  CHECK(least_span(problem) == 5 * (3 * 2 + 3 * 5 + 1));
}

}  // namespace plumb::testing

TEST_SUITE_END();
