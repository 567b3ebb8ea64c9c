#include <doctest/doctest.h>

#include "schedules/catalogue/registry.hpp"
#include "schedules/program/list_times.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/stage_list.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {

TEST_CASE("pipeedge runs every microbatch forward through every stage, in order, and nothing back") {
  const Schedule schedule = generate("pipeedge", {.num_devices = 3, .num_microbatches = 4, .updates = 2});
  CHECK(schedule.forward_only);
  for (std::int64_t d = 0; d < 3; ++d) CHECK(stage_list(schedule, d) == "F0 F1 F2 F3 F4 F5 F6 F7");
}

TEST_CASE("pipeedge cuts sequences into slices that follow each other") {
  const ScheduleParams params{.num_devices = 2, .num_microbatches = 2, .options = {{"slices", "3"}}};
  const Schedule schedule = generate("pipeedge", params);
  for (std::int64_t d = 0; d < 2; ++d) CHECK(stage_list(schedule, d) == "F0.0 F0.1 F0.2 F1.0 F1.1 F1.2");
  CHECK(replay(schedule, {.f = 1}).makespan == 7);
}

TEST_CASE("m microbatches of pipeedge take (m + p - 1) F, or the slowest stage m times and the others once") {
  for (const std::int32_t p : {1, 2, 5}) {
    for (const std::int64_t m : {1, 4, 50}) {
      const Schedule schedule = generate("pipeedge", {.num_devices = p, .num_microbatches = m});
      CHECK(replay(schedule, {.f = 1}).makespan == m + p - 1);
      const auto duration = [&](const Action& action) -> Ticks { return index(action.stage) == 1 ? 7 : 2; };
      CHECK(list_times(schedule, duration, 0).makespan == (p > 1 ? 7 * m + 2 * (p - 1) : 2 * m));
    }
  }
}

TEST_CASE("the picture of pipeedge is the one in tests/golden") {
  const std::string actual = picture(generate("pipeedge", {.num_devices = 4, .num_microbatches = 6}), {});
  CHECK(actual == golden("schedules/pipeedge.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
