#include "schedules/catalogue/pipeline_copies.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "models/ground/error.hpp"
#include "schedules/checks/validate.hpp"
#include "schedules/document/schedule_io.hpp"
#include "tests/support/simulated.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb::testing {
namespace {

Ticks step_of(const Schedule& schedule) {
  const StageCosts costs = abstract_costs("F=3,I=2,W=2,U=1", "", {.num_stages = schedule.num_stages});
  return simulate(lower(schedule, costs)).step_time;
}

/// Whether the catalogue says that the schedule has such copies.
bool has_shares(const ScheduleSpec& spec) {
  const std::vector<NamedOption> options = spec.all_options();
  return std::ranges::find(options, kCopyShares, &NamedOption::name) != options.end();
}

}  // namespace

TEST_CASE("copies of 1F1B with five and three microbatches, whose holders of a stage add up their gradients") {
  const Schedule schedule = schedule_of({.name = "1f1b", .p = 4, .m = 8, .options = {{"shares", "5-3"}}});
  CHECK(validate(schedule).empty());
  CHECK(schedule.num_stages == 2);
  CHECK(schedule.num_microbatches == 8);
  CHECK(schedule.placement == std::vector<std::vector<std::vector<DeviceId>>>{{{DeviceId{0}}, {DeviceId{1}}},
                                                                              {{DeviceId{2}}, {DeviceId{3}}}});
  const Program program = lower(schedule, abstract_costs("F=1,B=2", "", {.num_stages = 2}));
  REQUIRE(program.collectives.size() == 2);
  for (const Collective& sum : program.collectives) CHECK(sum.members.size() == 2);
  const std::string text = schedule_to_text(schedule);
  CHECK(text.find("0F0 0F1 0B0") != std::string::npos);
  CHECK(text.find("1:0F5 1:0F6 1:0B5 1:0F7 1:0B6 1:0B7 1:0U0") != std::string::npos);
}

TEST_CASE("copies of every schedule that flushes take as long as the slowest of them alone") {
  std::set<std::string> refused;
  int copied = 0;
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    if (!spec.synchronous || spec.inference) continue;
    CAPTURE(spec.name);
    const Case one{.name = spec.name, .p = 4, .m = 12};
    const Case other{.name = spec.name, .p = 4, .m = 16};
    Schedule both;
    try {
      both = schedule_of({.name = spec.name, .p = 8, .m = 28, .options = {{"shares", "12-16"}}});
    } catch (const Error& error) {
      CHECK(std::string(error.what()).find("option shares") != std::string::npos);
      CHECK(!has_shares(spec));
      refused.emplace(spec.name);
      continue;
    }
    ++copied;
    CHECK(has_shares(spec));
    CHECK(validate(both).empty());
    CHECK(schedule_from_json(schedule_to_json(both), "copies.json") == both);
    CHECK(step_of(both) == std::max(step_of(schedule_of(one)), step_of(schedule_of(other))));
  }
  CHECK(copied >= 30);
  CHECK(refused.contains("terapipe"));  // its slices are of microbatches
}

TEST_CASE("shares that are none are refused") {
  const auto refused = [](std::string_view name, std::int64_t m, const char* shares, std::int64_t updates,
                          const char* why) {
    const Case asked{.name = name, .p = 4, .m = m, .updates = updates, .options = {{"shares", shares}}};
    CHECK_THROWS_WITH_AS(schedule_of(asked), why, Error);
  };
  refused(
      "1f1b", 8, "5-4", 0,
      "1f1b: option shares: expected the microbatches of each copy of the pipeline, as 5-3, 8 together, found '5-4'");
  refused("1f1b", 8, "3-3-2", 0, "1f1b: num_devices (4) must be a multiple of the 3 copies of option shares");
  refused("1f1b", 8, "5-3", 2, "1f1b: option shares: expected one update");
  refused("pipedream", 8, "5-3", 0, "pipedream: option shares: expected a schedule that flushes");
}

}  // namespace plumb::testing

TEST_SUITE_END();
