#include "sim/plan_search/plan_setups.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <vector>

TEST_SUITE_BEGIN("sim");

namespace plumb {

TEST_CASE("setups wait in the order of their estimates, and the least bound of those that are left is known") {
  const std::vector<PlanSetup> setups = {
      {.bound = 50, .estimate = 70},  // number 1
      {.bound = 90, .estimate = 0},   // number 2, estimated at its bound
      {.bound = 20, .estimate = 70},  // number 3
      {.bound = 55, .estimate = 60},  // number 4
  };
  WaitingSetups waiting(setups);
  REQUIRE(waiting.size() == 4);
  struct Expected {
    Ticks estimate;
    std::int64_t number;
    std::size_t setup;
    Ticks least_bound;
  };
  for (const Expected& expected :
       std::vector<Expected>{{60, 4, 3, 20}, {70, 1, 0, 20}, {70, 3, 2, 20}, {90, 2, 1, 90}}) {
    CHECK(waiting.least_bound() == expected.least_bound);
    CHECK(waiting.first().estimate == expected.estimate);
    CHECK(waiting.first().number == expected.number);
    CHECK(waiting.first().setup == expected.setup);
    waiting.pop();
  }
  CHECK(waiting.empty());
  CHECK(waiting.least_bound() == std::numeric_limits<Ticks>::max());
}

}  // namespace plumb

TEST_SUITE_END();
