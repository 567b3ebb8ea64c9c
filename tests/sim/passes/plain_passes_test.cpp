#include "sim/passes/plain_passes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "models/ground/error.hpp"
#include "sim/passes/one_pass.hpp"
#include "tests/support/simulated.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb {

TEST_CASE("the lean pass gives every start and end of the pass that knows messages, collectives and pairs") {
  std::int64_t plain = 0;
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    for (const std::string_view cost : {"F=1,B=2", "F=3,I=4,W=1,U=2,comm=0.7"}) {
      for (const std::int64_t m : {4, 12}) {
        CAPTURE(spec.name);
        CAPTURE(cost);
        CAPTURE(m);
        const testing::Case one{.name = spec.name, .p = 4, .m = m, .cost = cost, .updates = 2};
        Program program;
        try {
          program = testing::program_of(one);
        } catch (const Error&) {
          continue;  // no size of this schedule, or costs that it does not take
        }
        if (!has_plain_lanes(program)) continue;
        ++plain;
        const ProgramIndex indexed(program);
        OnePass pass(indexed, {});
        pass.run();
        REQUIRE(pass.finished());
        const auto found = run_plain_times(program);
        REQUIRE(found.has_value());
        CHECK(*found == pass.take_times());
      }
    }
  }
  CHECK(plain > 60);
}

TEST_CASE("the lean pass says nothing where lanes wait for each other") {
  Schedule schedule = testing::schedule_of({.name = "gpipe", .p = 2, .m = 2});
  for (DeviceList& list : schedule.devices) list = {.actions = expand(list), .repeats = {}};
  std::vector<Action>& actions = schedule.devices[0].actions;
  const auto backward = std::ranges::find_if(actions, [](const Action& action) { return is_backward(action.op); });
  std::rotate(actions.begin(), backward, backward + 1);
  CHECK_FALSE(run_plain_times(lower(schedule, abstract_costs("F=1,B=2", "", {.num_stages = 2}))).has_value());
}

}  // namespace plumb

TEST_SUITE_END();
