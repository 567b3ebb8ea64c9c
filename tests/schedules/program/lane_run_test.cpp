#include "schedules/program/lane_run.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

using namespace plumb;

TEST_SUITE_BEGIN("schedules");

TEST_CASE("a lane waits for a moment only while it is not known") {
  TimedRun run(2);
  Ticks moment = TimedRun::kUnknown;
  CHECK(run.waits(1, moment));
  CHECK(!TimedRun::is_known(moment));
  CHECK(!run.has_woken());
  run.set(moment, 7);
  CHECK(moment == 7);
  REQUIRE(run.has_woken());
  CHECK(run.take_woken() == 1);
  CHECK(!run.waits(1, moment));
  CHECK(!run.has_woken());
}

TEST_CASE("a moment that comes at 0 is known") {
  TimedRun run(1);
  Ticks moment = TimedRun::kUnknown;
  run.set(moment, 0);
  CHECK(TimedRun::is_known(moment));
  CHECK(!run.has_woken());
}

TEST_CASE("all lanes that wait for one moment go on when it comes, and no others") {
  constexpr std::uint32_t kLanes = 5;
  UntimedRun run(kLanes);
  std::int32_t first = UntimedRun::kUnknown;
  std::int32_t second = UntimedRun::kUnknown;
  for (const std::uint32_t lane : {0U, 3U, 4U}) CHECK(run.waits(lane, first));
  for (const std::uint32_t lane : {1U, 2U}) CHECK(run.waits(lane, second));
  std::vector<int> woken(kLanes, 0);
  run.set(first, kHasCome);
  run.run([&](std::uint32_t lane) { ++woken[lane]; });
  CHECK(woken == std::vector<int>{1, 0, 0, 1, 1});
  run.set(second, kHasCome);
  run.run([&](std::uint32_t lane) { ++woken[lane]; });
  CHECK(woken == std::vector<int>{1, 1, 1, 1, 1});
}

TEST_CASE("lanes that wait with another number for the unknown wake each other, too") {
  LaneRun<Ticks, 0> run(2);
  Ticks moment = 0;
  CHECK(run.waits(0, moment));
  CHECK(run.waits(1, moment));
  run.set(moment, 1);
  CHECK(moment == 1);
  std::vector<std::uint32_t> woken;
  run.run([&](std::uint32_t lane) { woken.push_back(lane); });
  CHECK(woken == std::vector<std::uint32_t>{0, 1});
  CHECK(!run.has_woken());
}

TEST_CASE("all lanes go on in the order of their numbers after they were all woken") {
  UntimedRun run(3);
  std::vector<std::uint32_t> order;
  run.wake_all();
  run.run([&](std::uint32_t lane) { order.push_back(lane); });
  CHECK(order == std::vector<std::uint32_t>{0, 1, 2});
}

TEST_CASE("lanes that run in turns stop where each waits for another, and nowhere before") {
  constexpr std::size_t kLanes = 4;
  constexpr int kSteps = 6;
  // Step k of a lane needs step k of the lane before, and step k - 1 of the lane behind; lane 2 never gets past 3.
  std::vector<int> done(kLanes, 0);
  run_in_turns(kLanes, [&](std::size_t lane) {
    const bool has_input = lane == 0 || done[lane - 1] > done[lane];
    const bool has_answer = lane + 1 == kLanes || done[lane + 1] >= done[lane];
    if (done[lane] == (lane == 2 ? 3 : kSteps) || !has_input || !has_answer) return false;
    ++done[lane];
    return true;
  });
  CHECK(done == std::vector<int>{5, 4, 3, 3});
}

TEST_SUITE_END();
