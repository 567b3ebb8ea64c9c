#include "schedules/lowering/microbatch_runs.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

TEST_SUITE_BEGIN("schedules");

namespace plumb::lowering {
namespace {

/// The numbers, written in pieces that begin where chance says so and are as long as they can be.
MicrobatchRuns written(const std::vector<std::int64_t>& numbers, std::mt19937& random) {
  MicrobatchRuns runs;
  for (std::size_t at = 0; at < numbers.size();) {
    std::size_t end = at + 1;
    const std::int64_t step = end < numbers.size() ? numbers[end] - numbers[at] : 0;
    const std::size_t most = 1 + random() % 4;
    while (end < numbers.size() && end - at < most && numbers[end] - numbers[end - 1] == step) ++end;
    runs.add(numbers[at], step, static_cast<std::int64_t>(end - at));
    at = end;
  }
  return runs;
}

}  // namespace

TEST_CASE("runs of microbatches are equal exactly where their numbers are, however these were written") {
  std::mt19937 random(3);
  for (int turn = 0; turn < 500; ++turn) {
    CAPTURE(turn);
    std::vector<std::int64_t> numbers;
    const std::size_t count = 1 + random() % 12;
    for (std::size_t k = 0; k < count; ++k) numbers.push_back(static_cast<std::int64_t>(random() % 4));
    if (turn % 2 == 0) std::ranges::sort(numbers);
    const MicrobatchRuns runs = written(numbers, random);
    CHECK(runs == written(numbers, random));
    CHECK(runs.size() == static_cast<std::int64_t>(count));
    CHECK(runs.within(std::ranges::max(numbers) + 1));
    CHECK_FALSE(runs.within(std::ranges::max(numbers)));
    std::vector<std::int64_t> others = numbers;
    others[random() % count] += 1;
    CHECK_FALSE(runs == written(others, random));
    others = numbers;
    others.push_back(numbers.back());
    CHECK_FALSE(runs == written(others, random));
  }
}

TEST_CASE("a warm-up, a steady part and a drain in one order are one run of microbatches") {
  MicrobatchRuns runs;
  runs.add(0, 1, 4);
  runs.add(4, 0, 1);
  runs.add(5, 1, 1'000'000'000);
  CHECK(runs.pieces() == 1);
  MicrobatchRuns whole;
  whole.add(0, 1, 1'000'000'005);
  CHECK(runs == whole);
  CHECK(whole.within(1'000'000'005));
  CHECK_FALSE(whole.within(1'000'000'004));
  MicrobatchRuns below;
  below.add(3, -2, 3);
  CHECK_FALSE(below.within(10));
}

}  // namespace plumb::lowering

TEST_SUITE_END();
