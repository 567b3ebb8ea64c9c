#include "schedules/program/list_times.hpp"

#include <doctest/doctest.h>

#include "schedules/catalogue/registry.hpp"
#include "tests/support/replay.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {

TEST_CASE("times of lists are those of the slow replay, also of slices and halves") {
  const auto check = [](const char* name, std::map<std::string, std::string> options) {
    const Schedule schedule =
        generate(name, {.num_devices = 4, .num_microbatches = 6, .updates = 2, .options = std::move(options)});
    CAPTURE(name);
    const auto duration = [&](const Action& action) -> Ticks {
      const Ticks parts = schedule.slices && action.slice == Action::kAllSlices ? 2 : 1;
      return parts * (action.op == Op::kF   ? 3
                      : action.op == Op::kB ? 5
                      : action.op == Op::kI ? 4
                                            : action.op == Op::kW);
    };
    const ListTimes times = list_times(schedule, duration, 0);
    const Replay expected = replay(schedule, {.f = 3, .b = 5, .i = 4, .w = 1});
    CHECK(times.makespan == expected.makespan);
    for (std::size_t d = 0; d < 4; ++d) {
      REQUIRE(times.devices[d].size() == expected.devices[d].size());
      for (std::size_t i = 0; i < times.devices[d].size(); ++i) {
        CHECK(times.devices[d][i].start == expected.devices[d][i].start);
        CHECK(times.devices[d][i].end == expected.devices[d][i].end);
      }
    }
  };
  check("1f1b", {});
  check("interleaved", {{"group", "6"}});
  check("zb-h1", {});
  check("seq1f1b", {});
  check("autopipe", {{"sliced", "3"}});
}

TEST_CASE("a value takes its time to another device") {
  const Schedule schedule = generate("1f1b", {.num_devices = 3, .num_microbatches = 1});
  const auto duration = [](const Action& action) -> Ticks { return action.op == Op::kU ? 0 : 1; };
  CHECK(list_times(schedule, duration, 10).makespan == 6 + 4 * 10);
}

}  // namespace plumb::testing

TEST_SUITE_END();
