#include "schedules/catalogue/searched/microbatch_mix.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "tests/support/order_problems.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

/// All ways to put `count` microbatches into the states, the slow way.
std::int64_t most_value_of_all(const std::vector<MicrobatchState>& states, std::int64_t count, std::int64_t limit) {
  std::int64_t best = 0;
  const std::function<void(std::size_t, std::int64_t, std::int64_t, std::int64_t)> choose =
      [&](std::size_t state, std::int64_t left, std::int64_t room, std::int64_t value) {
        best = std::max(best, value);
        if (state == states.size()) return;
        for (std::int64_t n = 0; n <= left && n * states[state].stash <= room; ++n) {
          choose(state + 1, left - n, room - n * states[state].stash, value + n * states[state].value);
        }
      };
  choose(0, count, limit, 0);
  return best;
}

}  // namespace

TEST_CASE("no choice of states is worth more than the bound, and with up to two states it is exact") {
  Numbers numbers;
  for (int k = 0; k < 2000; ++k) {
    std::vector<MicrobatchState> states(static_cast<std::size_t>(numbers.between(1, 4)));
    for (MicrobatchState& state : states) state = {numbers.between(0, 6), numbers.between(0, 9)};
    const std::int64_t count = numbers.between(0, 6);
    const std::int64_t limit = numbers.between(0, 20);
    CAPTURE(k);
    const std::int64_t bound = most_value(states, count, limit);
    const std::int64_t best = most_value_of_all(states, count, limit);
    CHECK(bound >= best);
    if (states.size() <= 2) CHECK(bound == best);
  }
}

TEST_CASE("without a limit every microbatch is in the most valuable state") {
  CHECK(most_value({{5, 2}, {7, 3}}, 1'000'000, std::numeric_limits<std::int64_t>::max()) == 3'000'000);
}

}  // namespace plumb::testing

TEST_SUITE_END();
