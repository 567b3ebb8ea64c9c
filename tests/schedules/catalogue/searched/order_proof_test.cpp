#include "schedules/catalogue/searched/order_proof.hpp"

#include <doctest/doctest.h>

#include "schedules/catalogue/searched/order_timer.hpp"
#include "schedules/catalogue/searched/span_bound.hpp"
#include "tests/support/order_problems.hpp"
#include "tests/support/sanitized.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {

TEST_CASE("branch and bound finds and proves the shortest of all orders, whatever it starts from") {
  constexpr std::int64_t kPlenty = 10'000'000;
  constexpr int kProblems = kSanitized ? 24 : 240;
  Numbers numbers;
  int compared = 0;
  for (int k = 0; k < kProblems; ++k) {
    const OrderProblem problem = small_problem(numbers, k % 3 == 2);
    const Ticks shortest = shortest_span_of_all(problem, 40'000);
    if (shortest == 0) continue;
    CAPTURE(k);
    const ProvedOrder from_afar = prove_order(problem, {.words = {}, .found = 4 * shortest, .bound = 0}, kPlenty);
    CHECK(from_afar.found == shortest);
    CHECK(from_afar.bound == shortest);
    CHECK(is_possible(problem, from_afar.words));
    const ProvedOrder from_optimum =
        prove_order(problem, {.words = from_afar.words, .found = shortest, .bound = least_span(problem)}, kPlenty);
    CHECK(from_optimum.found == shortest);
    CHECK(from_optimum.bound == shortest);
    ++compared;
  }
  CHECK(compared * 8 >= kProblems * 5);
}

TEST_CASE(
    "branch and bound finds the one order that the authors' integer programme finds and their heuristic does not") {
  // 4 devices, 8 microbatches, F 5, I 6, W 4, memory for 2p: their heuristic 126, their integer programme 125.
  const OrderProblem problem = straight_of(4, 8, {5, 6, 4}, 0, 16);
  const ProvedOrder proved = prove_order(problem, {.words = {}, .found = 127, .bound = 0}, 10'000'000);
  CHECK(proved.found == 125);
  CHECK(proved.bound == 125);
}

TEST_CASE("when states run out, the bound and the order stay true") {
  const OrderProblem problem = straight_of(4, 8, {5, 6, 4}, 1, 8);
  const Ticks bound = least_span(problem);
  for (const std::int64_t states : {0, 1, 100, 1000}) {
    const ProvedOrder proved = prove_order(problem, {.words = {}, .found = 154, .bound = bound}, states);
    CAPTURE(states);
    CHECK(proved.bound >= bound);
    CHECK(proved.bound <= 153);  // the optimum
    CHECK(proved.found >= 153);
  }
}

}  // namespace plumb::testing

TEST_SUITE_END();
