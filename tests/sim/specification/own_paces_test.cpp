#include <doctest/doctest.h>

#include "schedules/versions/delays.hpp"
#include "tests/support/simulated.hpp"

// Stages whose updates have paces of their own: `1f1b-rr` with stage 0 on two devices, which take microbatches in turn,
// and stage 1 on one. One update of stage 0 is two of stage 1.

TEST_SUITE_BEGIN("sim");

using namespace plumb;
using namespace plumb::testing;

TEST_CASE("§9.2: with paces of their own the first update is over when every device has made one, and stage 0 counts") {
  // d0: 0F0 0F2 0B0 0U0 0F4 0B2 0U1 0F6 0B4 0U2 0B6 0U3
  // d1: 0F1 0F3 0B1 0U0 0F5 0B3 0U1 0F7 0B5 0U2 0B7 0U3
  // d2: 1F0 1B0 1U0 1F1 1B1 1U1 ... 1F7 1B7 1U7
  //
  // F=1, B=2, U=1. Device 2 begins at 1, when 0F0 is there, and never waits again: 1Bk ends at 4 + 4k, 1Uk at 5 + 4k.
  // The backwards of stage 0 wait for it: 0Bk ends at 6 + 4k, its update at 7 + 4k.
  // First updates end at 7 (d0), 11 (d1: after 0B1) and 5 (d2), so the first is over at 11; last ones at 31 (d0: after
  // 0B6), 35 (d1: after 0B7) and 33 (d2). Eight microbatches are 4 updates of stage 0: (35 - 11) / 3 = 8. By the
  // updates of stage 1, of which there are 8, it would be 24 / 7.
  const Timeline timeline = simulated(
      {.name = "1f1b-rr", .p = 3, .m = 1, .cost = "F=1,B=2,U=1", .updates = 4, .options = {{"replicas", "2-1"}}});
  CHECK(timeline.makespan == 35 * 1'000'000);
  CHECK(timeline.updates == 4);
  CHECK(timeline.step_time == 8 * 1'000'000);
}

TEST_CASE("§10.3: with paces of their own stages leave out unlike numbers of parts") {
  // m = 4, 3 updates of stage 0: 24 microbatches, 8 of them in an update of stage 0, 4 in one of stage 1.
  // d0: 0F0 0F2 0B0 0F4 0B2 0F6 0B4 0F8 0B6 0U0 0F10 0B8 0F12 0B10 0F14 0B12 0F16 0B14 0U1 ...      (even ones)
  // d1: 0F1 0F3 0B1 0F5 0B3 0F7 0B5 0F9 0B7 0U0 0F11 0B9 0F13 0B11 0F15 0B13 0F17 0B15 0U1 ...      (odd ones)
  // d2: 1F0 1B0 1F1 1B1 1F2 1B2 1F3 1B3 1U0 1F4 1B4 ... 1U5
  //
  // Before their first backwards the devices take forward 0 and 2, 1 and 3, and 0: no update with one of 0 to 3 counts.
  // Of stage 0 that is U0 on both devices, which has 8 microbatches; 8 on each are left. Of stage 1 it is U0, which has
  // 4; 20 are left.
  //
  // On stage 0 the first forward of an update (8, 16) runs before the update before (U0, U1), so its weights are 1
  // update old, those of the other three are new; the backward reads what the forward read. Between a forward and its
  // backward there is one other backward. On stage 1 nothing is old.
  const Case one{.name = "1f1b-rr", .p = 3, .m = 4, .updates = 3, .options = {{"replicas", "2-1"}}};
  const Schedule schedule = schedule_of(one);
  const std::vector<StageDelays> delays = stage_delays(schedule, lower(schedule, costs_of(one, schedule)));
  REQUIRE(delays.size() == 3);
  for (const StageDelays& replicated : {delays[0], delays[1]}) {
    CHECK(replicated.stage == StageId{0});
    CHECK(replicated.forward == DelayCounts{{0, 6}, {1, 2}});
    CHECK(replicated.backward == replicated.forward);
    CHECK(replicated.distance == DelayCounts{{1, 8}});
  }
  CHECK(delays[2].stage == StageId{1});
  CHECK(delays[2].forward == DelayCounts{{0, 20}});
  CHECK(delays[2].backward == DelayCounts{{0, 20}});
  CHECK(delays[2].distance == DelayCounts{{0, 20}});
}

TEST_SUITE_END();
