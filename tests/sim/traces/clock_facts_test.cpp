#include <doctest/doctest.h>

#include <vector>

#include "sim/traces/calm_steps.hpp"
#include "sim/traces/clocks.hpp"
#include "sim/traces/crowd.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb::testing {

TEST_CASE("clocks that show the same flight both ways everywhere are put right to the nanosecond") {
  const std::vector<std::int64_t> ahead{0, 1000, -2500, 40'000};
  for (const bool in_line : {false, true}) {
    Slacks slacks(4);
    for (std::size_t from = 0; from < 4; ++from) {
      for (std::size_t to = 0; to < 4; ++to) {
        const bool neighbours = from + 1 == to || to + 1 == from;
        if (from != to && (!in_line || neighbours)) slacks.add(from, to, 300 + ahead[to] - ahead[from]);
      }
    }
    const ClockOffsets offsets = clock_offsets(slacks);
    CHECK(offsets.residual_ns == 0);
    for (std::size_t rank = 0; rank < 4; ++rank) CHECK(offsets.add_ns[rank] == -ahead[rank]);
  }
  // Of messages one way only as much is known as that none comes before it was sent.
  Slacks one_way(3);
  one_way.add(0, 1, -70);
  one_way.add(1, 2, -5);
  const ClockOffsets offsets = clock_offsets(one_way);
  CHECK(offsets.residual_ns == 0);
  CHECK(offsets.add_ns[1] - offsets.add_ns[0] >= 70);
  CHECK(offsets.add_ns[2] - offsets.add_ns[1] >= 5);
  // Round three ranks each message comes 10 before it was sent: no offsets help.
  Slacks circle(3);
  circle.add(0, 1, -10);
  circle.add(1, 2, -10);
  circle.add(2, 0, -10);
  CHECK(clock_offsets(circle).residual_ns >= 10);
  CHECK(clock_offsets(circle).residual_ns <= 30);
}

TEST_CASE("of the slacks between two ranks the least is kept") {
  Slacks slacks(2);
  slacks.add(0, 1, 30);
  slacks.add(0, 1, 20);
  slacks.add(0, 1, 25);
  CHECK(slacks.at(0, 1) == 20);
  CHECK(slacks.at(1, 0) == Slacks::kNoMessage);
  CHECK(slacks.ranks() == 2);
}

TEST_CASE("messages in a crowd of three or more tell what they share, and fewer tell nothing") {
  for (std::int64_t took = 100; took <= 900; took += 100) {
    const double capacity = message_capacity({{3, took}, {3, took}, {3, took}}, 100);
    CHECK(capacity == doctest::Approx(took >= 300 ? 1 : 300.0 / static_cast<double>(took)));
  }
  CHECK(message_capacity({{3, 100}, {3, 100}}, 100) == 0);
  CHECK(message_capacity({}, 100) == 0);
}

}  // namespace plumb::testing

TEST_SUITE_END();
