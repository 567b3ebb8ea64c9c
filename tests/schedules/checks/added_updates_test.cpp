#include <string>

#include <doctest/doctest.h>

#include "schedules/checks/validate.hpp"
#include "tests/support/written_schedule.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

/// Two copies of a pipeline in opposite directions. Device 0 ends stage 0, then stage 1; device 1 the other way round.
Schedule crossing_copies(WeightPolicy policy) {
  Schedule schedule = written_schedule({"0F0 0B0 1:1F1 1:1B1", "1F0 1B0 1:0F1 1:0B1"}, 2);
  schedule.placement.push_back({{DeviceId{1}}, {DeviceId{0}}});
  schedule.weights.policy = policy;
  return schedule;
}

}  // namespace

TEST_CASE("updates that are added behind a device's last backward of all stages never wait for each other") {
  CHECK(validate(crossing_copies(WeightPolicy::kFlush)).empty());
}

TEST_CASE(
    "devices that end two shared stages in opposite order without a flush are refused, and told of added updates") {
  for (const WeightPolicy policy : {WeightPolicy::kStash, WeightPolicy::kLatest, WeightPolicy::kDoubleBuffer}) {
    const std::vector<Violation> found = validate(crossing_copies(policy));
    REQUIRE(found.size() == 1);
    CHECK(to_string(found.front()) ==
          "device 0, position 4: 0U0 (added, since the list has none): deadlock: 0U0 on device 0 waits for "
          "1:0REDUCE_GRAD "
          "on device 1, which comes after 1U0; 1U0 on device 1 waits for 1:1REDUCE_GRAD on device 0, which comes after "
          "0U0");
  }
}

TEST_CASE("with updates of their own in the lists the same two devices run without a flush") {
  Schedule schedule = crossing_copies(WeightPolicy::kStash);
  schedule.devices = written_schedule({"0F0 0B0 0REDUCE_GRAD 1:1F1 1:1B1 1:1REDUCE_GRAD 0U0 1:1U0",
                                       "1F0 1B0 1REDUCE_GRAD 1:0F1 1:0B1 1:0REDUCE_GRAD 1U0 1:0U0"},
                                      2)
                         .devices;
  CHECK(validate(schedule).empty());
}

}  // namespace plumb::testing

TEST_SUITE_END();
