#include "sim/traces/clocks.hpp"

#include <doctest/doctest.h>

#include <random>

TEST_SUITE_BEGIN("sim");

using namespace plumb;

TEST_CASE("clocks that agree are left alone") {
  Slacks slacks(2);
  slacks.add(0, 1, 5);
  slacks.add(1, 0, 0);
  CHECK(clock_offsets(slacks).add_ns == std::vector<std::int64_t>{0, 0});
}

TEST_CASE("a pair is centred between its bounds") {
  Slacks slacks(2);
  slacks.add(0, 1, 1030);  // rank 1's clock is ahead by 1000: true times of flight 30 and 10
  slacks.add(1, 0, -990);
  const ClockOffsets offsets = clock_offsets(slacks);
  CHECK(offsets.add_ns == std::vector<std::int64_t>{0, -1010});
  CHECK(offsets.residual_ns == 0);
}

TEST_CASE("whatever the clocks show, aligned messages never arrive before they were sent") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const std::size_t ranks = 2 + random() % 6;
    std::vector<std::int64_t> ahead(ranks);
    for (auto& ns : ahead) ns = static_cast<std::int64_t>(random() % 1'000'000);
    Slacks slacks(ranks);
    for (std::size_t from = 0; from < ranks; ++from) {
      for (std::size_t to = 0; to < ranks; ++to) {
        if (from == to || random() % 3 == 0) continue;
        slacks.add(from, to, static_cast<std::int64_t>(random() % 500) + ahead[to] - ahead[from]);
      }
    }
    const ClockOffsets offsets = clock_offsets(slacks);
    CHECK(offsets.residual_ns == 0);
    for (std::size_t from = 0; from < ranks; ++from) {
      for (std::size_t to = 0; to < ranks; ++to) {
        if (slacks.at(from, to) == Slacks::kNoMessage) continue;
        CHECK(slacks.at(from, to) + offsets.add_ns[to] - offsets.add_ns[from] >= 0);
      }
    }
  }
}

TEST_CASE("bounds that contradict each other leave a residual") {
  Slacks slacks(2);
  slacks.add(0, 1, -30);
  slacks.add(1, 0, 10);
  CHECK(clock_offsets(slacks).residual_ns == 20);
}
